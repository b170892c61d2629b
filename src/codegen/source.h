// Source of kernels: C for the processor, CUDA C++ for NVRTC. One emitter; a dialect says how launches, buffers and
// block reductions are written.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device_code/device_code.h"
#include "kernel/kernel.h"

namespace tokamak {

/// The source of one kernel.
struct KernelSource {
  std::string text;   ///< the kernel's function, without helpers
  std::string entry;  ///< the function's name
  /// Names of the helpers (device_code/) that the text calls.
  std::vector<std::string> helpers;
};

/// C: `void entry(void* const* buffers, const tk_i64* symbols, tk_i64 first, tk_i64 last)` runs the blocks first <= b <
/// last; block b is BIDx = b % extent(BIDx), BIDy = b / extent(BIDx) % extent(BIDy), ... Symbols of floating type are
/// the bits of an f64. The workspace (kernel/bind_kernel.h), if there is one, follows the tensors' buffers; its
/// counters are 0 before the first block of a launch.
/// CUDA: `__global__ void entry(buffers..., symbols...)`, each symbol as 8 bytes.
/// `index_type`: of indices, I32 or I64 (kernel/index_type.h); C always computes them in 64 bits.
/// `lanes`: of C's explicit vectors of f32: 4, 8, 16, or 1 for none (other types: codegen/loop_vectoriser.h). Errors:
/// Unsupported if the dialect cannot express the kernel.
KernelSource kernelSource(const kir::Kernel& kernel, Dialect dialect, DataType index_type = DataType::I64,
                          int lanes = 1);

/// A compilation unit of kernels with the helpers that they use.
std::string compilationUnit(std::span<const KernelSource> kernels, Dialect dialect);

}  // namespace tokamak
