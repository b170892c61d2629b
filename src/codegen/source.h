// Source of kernels: C for the processor, CUDA C++ for NVRTC. One emitter; a dialect says how launches, buffers
// and combining across threads are written.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device_code/device_code.h"
#include "kernel/kernel.h"

namespace tokamak {

/// What a launch has to give a kernel, in the order of its arguments.
struct KernelSource {
  std::string text;   ///< of one function, without helpers
  std::string entry;  ///< the function's name
  /// Names of the helpers (device_code/) that the text calls.
  std::vector<std::string> helpers;
};

/// C: `void entry(void* const* buffers, const tk_i64* symbols, tk_i64 first, tk_i64 last)` runs the blocks first <= b <
/// last; block b is BIDx = b % extent(BIDx), BIDy = b / extent(BIDx) % extent(BIDy), ... Symbols of floating type are
/// given by the bits of an f64. Behind the tensors' buffers comes the workspace (kernel/bind_kernel.h) of a kernel that
/// has one, its counters 0 before the first block of a launch. CUDA: `__global__ void entry(buffers..., symbols...)`,
/// each symbol as 8 bytes. `index_type`: of indices, I32 or I64 (kernel/index_type.h); C always computes them in 64
/// bits. `lanes`: of the explicit vectors of f32 that loops of C are written with (4, 8 or 16; other types:
/// codegen/loop_vectoriser.h; 1: none).
/// Errors: Unsupported when the dialect cannot say what the kernel does.
KernelSource kernelSource(const kir::Kernel& kernel, Dialect dialect, DataType index_type = DataType::I64,
                          int lanes = 1);

/// A compilation unit of kernels with the helpers that they use.
std::string compilationUnit(std::span<const KernelSource> kernels, Dialect dialect);

}  // namespace tokamak
