// What holds of the indices in a kernel.
#pragma once

#include "ir/interval_analysis.h"
#include "kernel/kernel.h"

namespace tokamak::kir {

/// Extents are not negative, indices of loops and dimensions and named positions are within theirs.
void assumeIndices(const Kernel& kernel, IntervalAnalysis& analysis);

}  // namespace tokamak::kir
