// Meetings: which communications of which ranks are one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "simulate/rank_steps.h"

namespace tokamak {

/// A rank's part in a meeting: its task, and which of the communications that are that task.
struct MeetingParty {
  int64_t rank = 0;
  int32_t task = 0;
  int32_t request = 0;
  const CommunicationRequest* asks = nullptr;
};

/// A collective, whose parties are in the order of the team; or a transfer: the sender comes first.
/// A CollectivePermute is a transfer to one rank, and one from another.
struct RankMeeting {
  std::vector<MeetingParty> parties = {};
  std::shared_ptr<const std::vector<int64_t>> team = {};
  size_t expected = 0;  ///< how many parties it takes; where there are fewer, somebody never comes
  bool is_transfer = false;
  int64_t sender = -1;  ///< of a transfer, as is the receiver
  int64_t receiver = -1;
};

/// Of the ranks' steps, by rank. A team's collectives meet in the order in which each rank posts them, and so do
/// transfers from one rank to another.
/// Errors: HostProgram, naming two ranks and their statements, where those that meet do not mean the same.
std::vector<RankMeeting> findMeetings(std::span<const RankSteps> ranks);

}  // namespace tokamak
