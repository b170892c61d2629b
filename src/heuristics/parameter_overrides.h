// Parameter overrides: schedule parameters that a person gives instead of the chosen ones, to measure both.
#pragma once

#include <string_view>

#include "heuristics/cuda_schedule.h"

namespace tokamak {

/// The parameters with the values of `values`: "threads=1024,persistent_batches=0,chunk=4". Errors: Usage, naming what
/// is no parameter or no value.
CudaScheduleParameters withOverrides(CudaScheduleParameters parameters, std::string_view values);

/// The number of partial sums of a two-stage outer reduction: that of `values` ("parts=264"), or else `chosen`. Errors:
/// as above.
int64_t overriddenOuterStages(int64_t chosen, std::string_view values);

}  // namespace tokamak
