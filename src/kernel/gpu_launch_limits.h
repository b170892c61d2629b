// The largest launches of NVIDIA GPUs (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
#pragma once

#include <array>
#include <cstdint>

namespace tokamak {

constexpr std::array<int64_t, 3> kMostGpuBlocks = {2147483647, 65535, 65535};  // along x, y and z
constexpr int64_t kMostGpuBlockThreads = 1024;

}  // namespace tokamak
