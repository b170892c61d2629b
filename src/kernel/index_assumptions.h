// The ranges of a kernel's indices, as assumptions of the interval analysis.
#pragma once

#include "kernel/kernel.h"
#include "symbolic/interval_analysis.h"

namespace tokamak::kir {

/// Assumes that extents are not negative, and that indices of loops, dimensions and Lets are in range.
void assumeIndices(const Kernel& kernel, IntervalAnalysis& analysis);

}  // namespace tokamak::kir
