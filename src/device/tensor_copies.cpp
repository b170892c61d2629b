#include "device/tensor_copies.h"

#include <cstring>
#include <utility>

#include "device/hazard_tracker.h"

namespace tokamak {

namespace {

// The first and last element that the tensor touches, seen from its own first one.
std::pair<int64_t, int64_t> touchedElements(const Tensor& tensor) {
  int64_t first = 0;
  int64_t last = 0;
  for (int64_t axis = 0; axis < tensor.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    const int64_t reach = (tensor.sizes()[i] - 1) * tensor.strides()[i];
    (reach < 0 ? first : last) += reach;
  }
  return {first, last};
}

// The bytes between the elements come along, so that strides may stay.
Tensor copyOf(const Tensor& tensor, Device& device, const std::shared_ptr<Stream>& stream, MemoryKind kind) {
  if (tensor.numel() == 0) {
    return {Buffer::allocate(device, stream, 0, kind), 0, tensor.dtype(), tensor.sizes(), tensor.strides()};
  }
  const int64_t element = sizeOf(tensor.dtype());
  const auto [first, last] = touchedElements(tensor);
  const int64_t bytes = (last - first + 1) * element;
  const std::shared_ptr<Buffer> buffer = Buffer::allocate(device, stream, bytes, kind);
  const auto* const from = static_cast<const std::byte*>(tensor.data()) + first * element;
  if (&tensor.device() == &device) {
    OrderedCall call(device);
    call.add(tensor, MemoryAccess::Read);
    call.run(*stream, [&] { device.copy(*stream, buffer->address(), from, bytes); });
  } else {
    tensor.waitReady();
    device.copy(*stream, buffer->address(), from, bytes);
  }
  device.synchronize(*stream);
  buffer->settle();
  return {buffer, -first * element, tensor.dtype(), tensor.sizes(), tensor.strides()};
}

}  // namespace

Tensor toHost(const Tensor& tensor, const std::shared_ptr<Stream>& stream) {
  tensor.waitReady();
  if (tensor.buffer()->isHostReadable()) return tensor;
  return copyOf(tensor, tensor.device(), stream, MemoryKind::Host);
}

Tensor toDevice(const Tensor& tensor, Device& device, const std::shared_ptr<Stream>& stream, MemoryKind kind) {
  if (tensor.kind() == kind && &tensor.device() == &device) return tensor;
  return copyOf(tensor, device, stream, kind);
}

void copyDense(const Tensor& tensor, std::byte* to) {
  const auto bytes = sizeOf(tensor.dtype());
  const auto* const from = static_cast<const std::byte*>(tensor.hostDataToRead());
  if (tensor.numel() == 0) return;
  if (tensor.isContiguous()) {
    std::memcpy(to, from, static_cast<size_t>(tensor.numel() * bytes));
    return;
  }
  forEachElement(tensor.sizes(), tensor.strides(), [&](int64_t offset) {
    std::memcpy(to, from + offset * bytes, static_cast<size_t>(bytes));
    to += bytes;
  });
}

}  // namespace tokamak
