// ScheduleParameters: what the schedule of a kernel is made from, on any target. They are chosen, printed, compared and
// applied.
#pragma once

#include <string>
#include <variant>

#include "heuristics/cpu_schedule.h"
#include "heuristics/cuda_schedule.h"

namespace tokamak {

using ScheduleParameters = std::variant<CpuScheduleParameters, CudaScheduleParameters>;

/// A pure function of the fusion, the sizes and the target. The fusion has no schedule yet, and `structure.find()` has
/// succeeded.
ScheduleParameters chooseParameters(const ReductionStructure& structure, const KernelTarget& target,
                                    const ScalarBindings& sizes);

/// "vector 8, threads 128, persistent batches 4, rows 1, unroll 1, outer grid split 1"
std::string toString(const ScheduleParameters& parameters);

/// Gives every tensor its schedule. Errors: Schedule.
void scheduleKernel(Fusion& fusion, const ScheduleParameters& parameters);

/// The reduction structure of a fusion that may become one kernel. Errors: Schedule when it may not.
ReductionStructure requireReductionStructure(Fusion& fusion);

}  // namespace tokamak
