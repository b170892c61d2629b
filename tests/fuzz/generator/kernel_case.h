// Kernels from random programs: scheduled, lowered, run by the interpreter, compared with the reference.
#pragma once

#include "generator/run_case.h"

namespace tokamak::generator {

struct KernelTally {
  int64_t programs = 0;
  int64_t refused = 0;  ///< that cannot be one kernel
  int64_t ops = 0;
  int64_t elements = 0;
};

/// What is wrong with the kernel that `fusion` becomes, or nothing.
std::optional<Problem> findKernelProblem(const Fusion& fusion, const std::vector<InputData>& inputs,
                                         KernelTally& tally);

}  // namespace tokamak::generator
