// Parameter overrides: schedule parameters that somebody gives instead of those that are chosen, to measure both.
#pragma once

#include <string_view>

#include "heuristics/cuda_schedule.h"

namespace tokamak {

/// The parameters with those of `values`: "threads=1024,persistent_batches=0,chunk=4". Errors: Usage, naming what is no
/// value.
CudaScheduleParameters withOverrides(CudaScheduleParameters parameters, std::string_view values);

/// In how many parts outer sums are made on the way, by `values` ("parts=264"), else as many as are `chosen`.
/// Errors: as above.
int64_t overriddenParts(int64_t chosen, std::string_view values);

}  // namespace tokamak
