// How a fusion becomes one kernel: whether it can, in which form, and with which schedule.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "device/kernel_target.h"
#include "ir/fusion.h"

namespace tokamak {

/// Why the fusion cannot or should not become one kernel on the target, or nothing. A function of its structure only.
/// (What needs a whole reduction would run in a single block: scheduleKernel does that, but two kernels are better.)
/// Makes scalars in the fusion, and splits its outputs where it is a kernel only so (heuristics/split_axes.h).
std::optional<std::string> whyNoKernel(Fusion& fusion, const KernelTarget& target);

/// The fusion in the form that kernels of the target are best made of: sums that blocks can make parts of on the way
/// become two steps.
std::unique_ptr<Fusion> prepareForKernels(const Fusion& fusion, const KernelTarget& target);

/// Gives every tensor its schedule. The fusion has no schedule yet. `sizes`: of the extents that are not constant; the
/// choice may depend on them, the result is right for all. Errors: Schedule.
void scheduleKernel(Fusion& fusion, const KernelTarget& target, const ScalarBindings& sizes);

}  // namespace tokamak
