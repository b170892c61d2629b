// ArrayView: what an array of another library says of itself.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "device/tensor.h"
#include "interop/dlpack_types.h"

namespace tokamak::python {

/// Is empty at first. Good while the array lives and nobody changes its shape.
struct ArrayView {
  ArrayView() {}  // NOLINT(modernize-use-equals-default): which would fill the arrays

  void* data = nullptr;
  DataType dtype = DataType::F32;
  dlpack::Device device;
  bool is_writeable = true;
  size_t rank = 0;
  // The array's own lists, where it has such; else null, and the lists are in here.
  const int64_t* sizes_there = nullptr;
  const int64_t* strides_there = nullptr;
  // (What is beyond the rank is never looked at; filling it would take longer than all else.)
  std::array<int64_t, Tensor::kMaxRank> sizes;    // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::array<int64_t, Tensor::kMaxRank> strides;  ///< in elements

  bool isOnHost() const { return device.type == dlpack::DeviceType::Cpu; }
  std::span<const int64_t> sizesOfAxes() const { return {sizes_there == nullptr ? sizes.data() : sizes_there, rank}; }
  std::span<const int64_t> stridesOfAxes() const {
    return {strides_there == nullptr ? strides.data() : strides_there, rank};
  }
};

}  // namespace tokamak::python
