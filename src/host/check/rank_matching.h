// Rank matching: which communications of different ranks are one, and whether they fit.
#pragma once

#include <cstdint>
#include <vector>

#include "host/check/rank_finding.h"
#include "host/check/rank_job.h"

namespace tokamak {

/// A work of a class.
struct ClassWork {
  int32_t of = 0;  ///< number of the class
  int32_t work = 0;
};

/// Works that are complete once all of them have started: a collective of a team, or a transfer. Of classes: each work
/// stands for those of all ranks of its class that meet so.
using RankMeeting = std::vector<ClassWork>;

struct RankMatching {
  std::vector<RankFinding> findings;
  std::vector<RankMeeting> meetings;  ///< complete where nothing was found
};

/// Matches the n-th collective of a team with the n-th one of each of its members, and the n-th transfer from one rank
/// to another with the n-th one there. Finds mismatches and what is missing, of each pair of classes the first ones. At
/// most `limit` findings.
RankMatching matchRanks(const RankJob& job, int64_t limit);

}  // namespace tokamak
