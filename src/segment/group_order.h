// The order of groups: which of those that could be next comes next.
#pragma once

#include "segment/segmenter.h"

namespace tokamak {

/// Puts the groups in the order in which, of those whose inputs are there, the one comes next that allocates least,
/// less what it frees; unless the given order (a topological one) needs no more memory at its peak, which then stays.
/// Sizes are the fusion's default sizes; an extent without one counts as the same number everywhere. A fusion with
/// Stream axes keeps its order: it says which ops share a loop.
std::vector<SegmentedGroup> orderForMemory(const Fusion& fusion, std::vector<SegmentedGroup> groups);

}  // namespace tokamak
