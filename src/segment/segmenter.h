// The segmenter: cuts a fusion into groups of ops; which groups may become one is a predicate the caller gives.
#pragma once

#include <functional>
#include <vector>

#include "ir/fusion.h"

namespace tokamak {

/// Ops that run together, in program order.
struct SegmentedGroup {
  std::vector<Expr*> exprs;
};

using MergePredicate = std::function<bool(const SegmentedGroup& producer, const SegmentedGroup& consumer)>;

/// Starts with every op alone and merges a producer group with a consumer group as long as the predicate accepts a pair and
/// no cycle between groups arises. Groups come in topological order.
std::vector<SegmentedGroup> segment(const Fusion& fusion, const MergePredicate& may_merge);

}  // namespace tokamak
