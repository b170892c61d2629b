#include "simulate/meetings.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/require.h"

namespace tokamak {

namespace {

using Team = std::shared_ptr<const std::vector<int64_t>>;

class Register {
 public:
  void add(int64_t rank, const RankSteps& steps) {
    std::map<size_t, int64_t> collectives;  // of this rank so far, by team
    for (size_t i = 0; i < steps.tasks.size(); ++i) {
      const RankTask& task = steps.tasks[i];
      if (!task.isCommunication()) continue;
      const size_t team = numberOf(task.work->team);
      for (size_t k = 0; k < task.work->group.size(); ++k) {
        const CommunicationRequest& request = task.work->group[k];
        const MeetingParty party{rank, static_cast<int32_t>(i), static_cast<int32_t>(k), &request};
        if (request.kind == CommunicationKind::CollectivePermute || isPointToPoint(request.kind))
          addTransfers(team, party, task.work->team);
        else
          addTo(meetingOf({team, collectives[team]++, -1, -1}), party, task.work->team);
      }
    }
  }

  std::vector<RankMeeting> take() {
    for (RankMeeting& meeting : meetings_) {
      if (meeting.is_transfer) continue;
      const std::unordered_map<int64_t, size_t>& positions = positions_.at(numberOf(meeting.team));
      std::ranges::sort(meeting.parties, {}, [&](const MeetingParty& party) { return positions.at(party.rank); });
    }
    return std::move(meetings_);
  }

 private:
  // Of a team: its number, which communication, and of a transfer the two ranks. Sends and receives are all ranks'.
  using Key = std::tuple<size_t, int64_t, int64_t, int64_t>;

  size_t numberOf(const Team& team) {
    const auto [found, is_new] = numbers_.emplace(*team, numbers_.size());
    if (is_new) {
      std::unordered_map<int64_t, size_t>& positions = positions_.emplace_back();
      for (size_t i = 0; i < team->size(); ++i) positions[(*team)[i]] = i;
    }
    return found->second;
  }

  RankMeeting& meetingOf(const Key& key) {
    const auto [found, is_new] = by_key_.emplace(key, meetings_.size());
    if (is_new) meetings_.emplace_back();
    return meetings_[found->second];
  }

  static void addTo(RankMeeting& meeting, const MeetingParty& party, const Team& team) {
    meeting.expected = team->size();
    meeting.team = team;
    meeting.parties.push_back(party);
  }

  void addTransfers(size_t number, const MeetingParty& party, const Team& team) {
    const CommunicationRequest& request = *party.asks;
    if (request.kind != CommunicationKind::Recv) addTransfer(number, {party.rank, request.send_to}, party, team);
    const bool is_to_itself = request.kind == CommunicationKind::CollectivePermute && request.send_to == party.rank;
    if (request.kind != CommunicationKind::Send && !is_to_itself)
      addTransfer(number, {request.receive_from, party.rank}, party, team);
  }

  void addTransfer(size_t number, std::pair<int64_t, int64_t> way, const MeetingParty& party, const Team& team) {
    const auto [sender, receiver] = way;
    const bool sends = party.rank == sender;
    RankMeeting& meeting =
        meetingOf({number, transfers_[{number, sends ? 1 : 0, sender, receiver}]++, sender, receiver});
    addTo(meeting, party, team);
    meeting.expected = sender == receiver ? 1 : 2;
    meeting.is_transfer = true;
    meeting.sender = sender;
    meeting.receiver = receiver;
    if (sends) std::rotate(meeting.parties.begin(), meeting.parties.end() - 1, meeting.parties.end());
  }

  std::map<std::vector<int64_t>, size_t> numbers_;
  std::vector<std::unordered_map<int64_t, size_t>> positions_;  // by team: where each rank stands
  std::map<Key, size_t> by_key_;
  std::map<Key, int64_t> transfers_;  // of a team, by side, sender and receiver
  std::vector<RankMeeting> meetings_;
};

void requireSame(const RankMeeting& meeting, std::span<const RankSteps> ranks) {
  const MeetingParty& first = meeting.parties[0];
  for (const MeetingParty& other : std::span(meeting.parties).subspan(1)) {
    const std::vector<int64_t>& team = *meeting.team;
    const std::string difference = differenceOf(*first.asks, first.rank, *other.asks, other.rank, team);
    const auto textOf = [&](const MeetingParty& party) -> const std::string& {
      return ranks[static_cast<size_t>(party.rank)].tasks[static_cast<size_t>(party.task)].text;
    };
    TK_REQUIRE(difference.empty(), HostProgram,
               "simulation: {} of rank {} ({}) meets {} of rank {} ({}), and {}; ranks have to communicate in the same "
               "order",
               textOf(first), first.rank, describe(*first.asks), textOf(other), other.rank, describe(*other.asks),
               difference);
  }
}

}  // namespace

std::vector<RankMeeting> findMeetings(std::span<const RankSteps> ranks) {
  Register all;
  for (size_t rank = 0; rank < ranks.size(); ++rank) all.add(static_cast<int64_t>(rank), ranks[rank]);
  std::vector<RankMeeting> meetings = all.take();
  for (const RankMeeting& meeting : meetings) requireSame(meeting, ranks);
  return meetings;
}

}  // namespace tokamak
