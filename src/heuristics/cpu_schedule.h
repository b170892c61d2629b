// The schedule of one kernel for the processor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/fusion.h"

namespace tokamak {

struct CpuScheduleParameters {
  /// Elements that one block of a pointwise kernel computes along the innermost axes.
  int64_t chunk = 8192;
  /// Elements along the innermost axis that a reduction over outer axes accumulates side by side.
  int64_t columns = 256;
  /// Partial results of a reduction along the innermost axis.
  int64_t lanes = 32;
};

/// Why the fusion cannot or should not become one kernel on the processor, or nothing. A function of its structure only. (What needs a whole
/// reduction would run in a single block: scheduleForCpu does that, but two kernels are better.)
/// Makes scalars in the fusion and nothing else.
std::optional<std::string> whyNoCpuKernel(Fusion& fusion);

/// Gives every tensor its schedule: a row (or chunk) per block; what follows a reduction goes over the same rows. The fusion has no schedule yet.
/// Errors: Schedule.
void scheduleForCpu(Fusion& fusion, const CpuScheduleParameters& parameters);

}  // namespace tokamak
