// Rank part check: that ops and transfers of a program over ranks put together the same parts of tensors, where views
// say which part a rank takes.
#pragma once

#include <cstdint>
#include <vector>

#include "host/check/rank_dependence.h"
#include "host/check/rank_finding.h"

namespace tokamak {

/// Walks the program for each rank, and follows where views lie, and what is computed of them. Where a place is
/// computed of the rank,
/// - an op's operands and the view that it writes, or a collective's two sides, lie at the same indices of axes that go
///   along with one another, and of axes that a HirAliasSelect drops; so do operands along an axis that is reduced;
/// - what is sent lies where it is received, between views of one tensor, or from the part that the sender has;
/// - an output that is whole on all ranks is computed of the same part on all of them.
/// Places that are not computed of the rank, and are not compared with one that is, are the program's to choose.
/// Returns one finding per statement at most, in the order of ranks, and `limit` of them at most.
/// Thread safety: one thread at a time; it makes scalars in the program.
std::vector<RankFinding> checkRankParts(RankDependence& analysis, int64_t ranks, int64_t limit);

}  // namespace tokamak
