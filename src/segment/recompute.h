// Recomputing instead of storing: what is cheap to compute again from what is in memory anyway is not passed between
// groups.
#pragma once

#include "segment/segmenter.h"

namespace tokamak {

/// Gives each group that reads one of the following tensors of another group its own copy of the ops that compute it,
/// where the rules accept the larger group; groups that nobody needs any more go away. Nothing changes in what any op
/// computes.
///
/// - factories (full, iota), never passed;
/// - chains of ops of one tensor operand that start at an input: casts, data movement, unary functions;
/// - casts and data movement of what is stored anyway, unless the operand is larger;
/// - what is computed element by element from stored tensors, without expensive functions, when reading those takes no
///   longer than writing and reading the tensor itself: so groups pass on reductions rather than what is made of them.
///   What stands for many elements of the group, and would be computed for each, takes one instruction at most;
/// - casts to a wider type that loses nothing, broadcasts and expansions, at the end of a group: the narrow operand is
///   stored in their place.
///
/// Before: groups from `segment`, in topological order. After: the same order; an op may be in several groups.
std::vector<SegmentedGroup> recomputeCheap(const Fusion& fusion, std::vector<SegmentedGroup> groups,
                                           const MergeRules& rules);

}  // namespace tokamak
