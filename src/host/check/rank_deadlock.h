// Rank deadlock: whether works of different ranks wait for one another in a circle.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "host/check/rank_finding.h"
#include "host/check/rank_matching.h"

namespace tokamak {

/// A work starts when what comes before it on its rank is over, and is over when all works of its meetings have
/// started. A finding if that has a circle, else nothing: then every work ends, whatever runs first. Of classes of many
/// ranks a circle need not be one of ranks, as where each rank waits for the one before it and the first one for none.
/// Linear in points and meetings.
std::optional<RankFinding> findDeadlock(const RankJob& job, std::span<const RankMeeting> meetings);

}  // namespace tokamak
