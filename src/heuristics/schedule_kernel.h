// How a fusion becomes one kernel: whether it can (canSchedule), in which form, and with which schedule.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "device/kernel_target.h"
#include "heuristics/reduction_structure.h"
#include "ir/fusion.h"

namespace tokamak {

/// Whether a fusion can and should become one kernel, with the reason where it should not.
struct Schedulability {
  std::optional<std::string> reason = std::nullopt;  ///< against it; nothing: it can be one kernel
  explicit operator bool() const { return !reason; }
};

/// Whether the fusion can and should become one kernel on the target, by its structure only. (scheduleKernel also
/// schedules what needs a whole reduction, in a single block, but two kernels are better.)
/// Makes scalars in the fusion. Splits axes of its outputs where it is a kernel only so
/// (heuristics/unmerge_reshapes.h).
Schedulability canSchedule(Fusion& fusion, const KernelTarget& target);

/// The same for a fusion that is scheduled as it is: why it should not be one kernel on the target, or nothing.
/// `structure` is found afterwards.
std::optional<std::string> whyNotOneKernel(ReductionStructure& structure, const KernelTarget& target);

/// The fusion in the form that makes the best kernels for the target: outer reductions become two-stage where blocks
/// can make partial sums while they compute rows.
std::unique_ptr<Fusion> prepareForKernels(const Fusion& fusion, const KernelTarget& target);

/// Gives every tensor its schedule. The fusion has no schedule yet. `sizes`: of the extents that are not constant. The
/// choice may depend on them; the result is right for all sizes. Errors: Schedule.
void scheduleKernel(Fusion& fusion, const KernelTarget& target, const ScalarBindings& sizes);

}  // namespace tokamak
