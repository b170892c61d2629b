// The order of groups: a topological order that needs little memory.
#pragma once

#include "segment/segmenter.h"

namespace tokamak {

/// List scheduling: of the groups that are ready, the one that adds least memory (allocated less freed) comes next. The
/// given topological order stays if its peak is no higher.
/// Sizes are the fusion's default sizes; all extents without one count alike. A fusion with Stream axes keeps its
/// order, which says which ops share a loop.
std::vector<SegmentedGroup> orderForMemory(const Fusion& fusion, std::vector<SegmentedGroup> groups);

}  // namespace tokamak
