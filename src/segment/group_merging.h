// Group merging: groups that become one after all, once it is known what they pass to one another.
#pragma once

#include "segment/segmenter.h"

namespace tokamak {

/// What a group makes of another group's reductions, element by element and with fewer axes than the group's largest
/// tensor, moves to that other group, if the rules accept it: it is computed once there, not for every element here.
std::vector<SegmentedGroup> moveSmallOpsToProducers(const Fusion& fusion, std::vector<SegmentedGroup> groups,
                                                    const MergeRules& rules);

/// Two groups become one where the rules accept them together, nobody between them needs the first, and either the
/// second reads what the first gives, or both read a tensor with as many axes as anything that they read or give: what
/// they share is then read once. Groups stay in topological order.
std::vector<SegmentedGroup> mergeGroups(const Fusion& fusion, std::vector<SegmentedGroup> groups,
                                        const MergeRules& rules);

}  // namespace tokamak
