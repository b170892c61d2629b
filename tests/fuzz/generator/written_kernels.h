// Kernels written by hand, with shared memory, barriers, combining and wide accesses, each beside the fusion that it
// computes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tokamak::generator {

struct WrittenKernel {
  std::string_view fusion;
  std::string_view kernel;
  std::vector<std::vector<int64_t>> sizes;  ///< of the fusion's symbols i0, i2, per run
};

std::span<const WrittenKernel> writtenKernels();

}  // namespace tokamak::generator
