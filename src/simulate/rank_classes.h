// RankClasses: ranks whose timelines are the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulate/communication_cost.h"
#include "simulate/meetings.h"
#include "simulate/rank_steps.h"

namespace tokamak {

/// The coarsest classes such that ranks of one class have the same tasks, and each communication of one has parties of
/// the same classes, in the same tasks, at the same cost, as that of the other (colour refinement). Then, by induction
/// over time, all ranks of a class are in the same state at each moment: what starts depends on the parties' states,
/// and speeds on what runs on the parties' own resources. So a timeline of one rank per class is exact.
/// Per rank, the number of its class; classes are numbered by their first ranks.
/// Takes time that grows with parties x (classes that are found one after the other). Errors: none but of memory.
std::vector<size_t> rankClasses(std::span<const RankSteps> ranks, std::span<const RankMeeting> meetings,
                                std::span<const CommunicationCost> costs);

}  // namespace tokamak
