// The rank checker: proves that the ranks of a job communicate what belongs together, and do not wait in a circle.
#pragma once

#include <cstdint>
#include <vector>

#include "host/check/rank_finding.h"
#include "host/check/rank_job.h"

namespace tokamak {

/// What is wrong with the communications of the job's ranks; at most `limit` findings, and circles only where nothing
/// else was found. Races of each rank are the checker's (host/check/checker.h).
///
/// - A team's collectives and groups start in the order in which each rank posts them; so do transfers to (from) one
///   rank that are in no group. A work starts when all that comes before it on its rank is over.
/// - The n-th collectives of a team, and the n-th transfers from one rank to another, are one communication: kind,
///   dtype, counts, root, reduction and place in a group are the same, what is sent is what is received, and it is over
///   when all of them have started.
///
/// Classes are matched with classes. Only where these wait in a circle is each rank looked at by itself.
std::vector<RankFinding> checkRanks(const RankJob& job, int64_t limit = 100);

}  // namespace tokamak
