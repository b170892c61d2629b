// Tensors between host memory and a device's, for host code that fills inputs and reads results.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "device/tensor.h"

namespace tokamak {

/// The tensor in memory that host code may read: itself where it is in such memory, else a copy in Host memory with the
/// same sizes and strides. Waits for the data. Errors: OutOfMemory; the failure of the work that made the data.
Tensor toHost(const Tensor& tensor, const std::shared_ptr<Stream>& stream);

/// A copy of `tensor`, whose data is there, in `kind` of memory of `stream`'s device, with the same sizes and strides;
/// itself where it is there already. Waits for the copy. Errors: OutOfMemory, Device.
Tensor toDevice(const Tensor& tensor, Device& device, const std::shared_ptr<Stream>& stream, MemoryKind kind);

/// Calls visit(offset in elements) for every element of these sizes and strides, in row-major order.
template <class Visit>
void forEachElement(std::span<const int64_t> sizes, std::span<const int64_t> strides, const Visit& visit) {
  if (std::ranges::find(sizes, 0) != sizes.end()) return;
  std::array<int64_t, Tensor::kMaxRank> index = {};
  int64_t offset = 0;
  for (;;) {
    visit(offset);
    size_t axis = sizes.size();
    for (; axis > 0; --axis) {
      offset += strides[axis - 1];
      if (++index[axis - 1] < sizes[axis - 1]) break;
      offset -= strides[axis - 1] * std::exchange(index[axis - 1], 0);
    }
    if (axis == 0) return;
  }
}

/// The elements of a tensor that host code can read, row-major, into memory of their size. Waits for them. Errors:
/// those of the work that made them.
void copyDense(const Tensor& tensor, std::byte* to);

}  // namespace tokamak
