// What holds of the indices in a kernel.
#pragma once

#include "kernel/kernel.h"
#include "symbolic/interval_analysis.h"

namespace tokamak::kir {

/// Extents are not negative, indices of loops and dimensions and named positions are within theirs.
void assumeIndices(const Kernel& kernel, IntervalAnalysis& analysis);

}  // namespace tokamak::kir
