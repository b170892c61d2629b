// Recomputation: groups recompute cheap values from tensors that are in memory anyway, instead of passing them.
#pragma once

#include "segment/segmenter.h"

namespace tokamak {

/// A group that reads one of the following tensors of another group gets its own copy of the ops that compute it, if
/// the rules accept the larger group. Groups without readers are removed.
///
/// - Factories (full, iota).
/// - Chains from an input of ops with one tensor operand: casts, data movement, unary functions.
/// - Casts and data movement of a stored tensor, unless the operand is larger.
/// - Elementwise results of stored tensors without expensive functions, if these have no more bytes than a store and a
///   load of the result: so groups pass reductions on. One instruction at most, if it is computed for many elements.
/// - Widening casts, broadcasts and expansions at the end of a group: the narrow operand is stored instead.
///
/// Before: groups from `segment`, in topological order. After: the same order; an op may be in several groups.
std::vector<SegmentedGroup> recomputeCheap(const Fusion& fusion, std::vector<SegmentedGroup> groups,
                                           const MergeRules& rules);

}  // namespace tokamak
