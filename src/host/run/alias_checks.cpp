#include "host/run/alias_checks.h"

#include <algorithm>

#include "host/check/access_overlap.h"

namespace tokamak {

namespace {

// The tensor as an access to one buffer that is all of memory: no address reaches 62 bits.
Access accessOf(const Tensor& tensor) {
  Access access;
  access.offset = static_cast<int64_t>(reinterpret_cast<uintptr_t>(tensor.data()));
  access.element_bytes = sizeOf(tensor.dtype());
  for (size_t axis = 0; axis < tensor.sizes().size(); ++axis) {
    access.dims.push_back({tensor.sizes()[axis], tensor.strides()[axis] * access.element_bytes});
  }
  return access;
}

// From the first to the last byte; the tensor has elements.
ByteRange rangeOf(const Tensor& tensor) {
  const int64_t bytes = sizeOf(tensor.dtype());
  ByteRange range;
  range.begin = static_cast<int64_t>(reinterpret_cast<uintptr_t>(tensor.data()));
  range.end = range.begin + bytes;
  for (size_t axis = 0; axis < tensor.sizes().size(); ++axis) {
    const int64_t reach = (tensor.sizes()[axis] - 1) * tensor.strides()[axis] * bytes;
    (reach < 0 ? range.begin : range.end) += reach;
  }
  return range;
}

bool areApart(const Buffer& a, const Buffer& b) {
  const auto* const first = static_cast<const std::byte*>(a.address());
  const auto* const second = static_cast<const std::byte*>(b.address());
  return first + a.bytes() <= second || second + b.bytes() <= first;
}

}  // namespace

bool sharesBytes(const Tensor& a, const Tensor& b) {
  if (areApart(*a.buffer(), *b.buffer())) return false;
  if (a.numel() == 0 || b.numel() == 0) return false;
  const ByteRange first = rangeOf(a), second = rangeOf(b);
  if (first.end <= second.begin || second.end <= first.begin) return false;
  return overlaps(accessOf(a), accessOf(b));
}

bool isSameMemory(const Tensor& a, const Tensor& b) {
  return a.data() == b.data() && a.dtype() == b.dtype() && std::ranges::equal(a.sizes(), b.sizes()) &&
         std::ranges::equal(a.strides(), b.strides());
}

bool repeatsElements(const Tensor& tensor, const Axes& shape) {
  if (tensor.numel() < 2) return false;
  Access access = accessOf(tensor);
  for (size_t axis = 0; axis < tensor.sizes().size(); ++axis) {
    if (tensor.sizes()[axis] == 1 || tensor.strides()[axis] != 0) continue;
    if (!shape[axis]->isBroadcast()) return true;
    access.dims[axis].size = 1;
  }
  return hasOverlappingElements(access);
}

}  // namespace tokamak
