// Architectures of NVIDIA's GPUs: their names, what schedules have to know of them, and whose code they run.
#pragma once

#include <string>

#include "device/kernel_target.h"

namespace tokamak {

/// What kernels are made for: the largest GPU of an architecture, "sm_80" or "sm_90a". A capability between two known
/// ones, or after all, has at least what the one below it has. `option`: who names it, in messages. Errors: Usage.
KernelTarget gpuTarget(const std::string& architecture, const std::string& option);

/// Whether a GPU of one architecture runs code that was compiled for another one: of an earlier minor version of its
/// capability, and where that name ends in "a", of the same capability alone (NVIDIA CUDA C++ Programming Guide,
/// "Binary Compatibility" and "Feature Availability"). Names that are none: not.
bool gpuRuns(const std::string& architecture, const std::string& code);

}  // namespace tokamak
