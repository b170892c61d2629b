// Group merging: moves ops between groups, and merges groups, because of the tensors that they exchange.
#pragma once

#include "segment/segmenter.h"

namespace tokamak {

/// Moves elementwise ops on another group's reductions to that group, if the rules accept it and the results have fewer
/// axes than the reader's largest tensor. They are computed once there, not for every element of the reader.
std::vector<SegmentedGroup> moveSmallOpsToProducers(const Fusion& fusion, std::vector<SegmentedGroup> groups,
                                                    const MergeRules& rules);

/// Merges two groups if the rules accept the result, no group between them reads the first, and either the second reads
/// the first, or both read a tensor with as many axes as any of theirs, which is then read once.
/// Groups stay in topological order.
std::vector<SegmentedGroup> mergeGroups(const Fusion& fusion, std::vector<SegmentedGroup> groups,
                                        const MergeRules& rules);

}  // namespace tokamak
