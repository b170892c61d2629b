// What is known of the extents of a fusion's axes.
#pragma once

#include "ir/fusion.h"
#include "symbolic/interval_analysis.h"

namespace tokamak {

/// Every extent of an axis of the fusion's tensors is >= 0.
void assumeExtents(IntervalAnalysis& analysis, const Fusion& fusion);

}  // namespace tokamak
