// Kernels from random programs: scheduled, lowered, run by the interpreter, compared with the reference.
#pragma once

#include "generator/run_case.h"
#include "jit/prepared_kernel.h"
#include "kernel/interpreter/kernel_interpreter.h"
#include "oracle/reference.h"

namespace tokamak::generator {

struct KernelTally {
  int64_t programs = 0;
  int64_t refused = 0;  ///< that cannot be one kernel
  int64_t ops = 0;
  int64_t elements = 0;
  int64_t narrow = 0;  ///< kernels whose indices have the bits that were asked for
};

/// How programs become kernels.
struct KernelWay {
  KernelTarget target;
  KernelRecipe recipe;
  /// Of the integers that the interpreter computes indices with, where the rule of kernel/index_type says that so many
  /// are enough: else they have 64.
  int index_bits = 64;
  std::function<void(const PreparedKernel&)> on_kernel;  ///< called for kernels that are right
  /// Runs a kernel that is right once more, elsewhere; its results are compared as well.
  std::function<void(const PreparedKernel&, std::span<const KernelBuffer>)> run_elsewhere;
};
/// Small blocks for the processor.
KernelWay cpuWay(uint64_t seed);
/// Loops long enough for vectors of 16 lanes.
KernelWay wideCpuWay(uint64_t seed);
/// For a GPU: what the heuristics choose, or other legal parameters.
KernelWay cudaWay(uint64_t seed);
/// The same with blocks of few threads, never what the heuristics choose.
KernelWay smallCudaWay(uint64_t seed);

/// The first output that is not what the reference says, or nothing.
std::optional<Problem> compareOutputs(const std::vector<StoredData>& outputs, const oracle::Reference& reference);

/// What is wrong with the kernel that `fusion` becomes, or nothing.
std::optional<Problem> findKernelProblem(const Fusion& fusion, const std::vector<InputData>& inputs,
                                         const KernelWay& way, KernelTally& tally);

}  // namespace tokamak::generator
