#include "dist/mpi/mpi_team_table.h"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>

namespace tokamak {

MpiTeamTable::MpiTeamTable(MpiWorld& world, const MpiJobKey& job, std::vector<int64_t> ranks, int64_t epoch,
                           std::chrono::milliseconds timeout)
    : TeamState(std::move(ranks), epoch, timeout),
      world_(world),
      job_(job),
      is_out_(ranks_.size()),
      has_left_(ranks_.size()),
      last_(ranks_.size()),
      collectives_{.members = ranks_} {}

MpiChannel& MpiTeamTable::transfers(int64_t from, int64_t to) {
  MpiChannel& channel = transfers_[{from, to}];
  if (channel.members.empty()) channel.members = {from, to};
  return channel;
}

void MpiTeamTable::noteArrival(MpiChannel& channel, int64_t number, size_t member, MpiArrival arrival) {
  const int64_t rank = channel.members[member];
  auto found = channel.meetings.find(number);
  if (found == channel.meetings.end()) {
    if (number < channel.next && rank != world_.rank()) return;  // this rank is done with it, after an error
    found = channel.meetings.try_emplace(number).first;
    found->second.arrivals.resize(channel.members.size());
    found->second.kind = arrival.request.kind;
  }
  MpiMeeting& meeting = found->second;
  lastOf(rank) = {arrival.request.kind, number};
  meeting.arrivals[member] = std::move(arrival);
  ++meeting.present;
  compare(channel, number, meeting, member);
}

void MpiTeamTable::compare(const MpiChannel& channel, int64_t number, const MpiMeeting& meeting, size_t member) {
  const auto operationOf = [&](size_t of) {
    const MpiArrival& arrival = *meeting.arrivals[of];
    return RankOperation{arrival.request, channel.members[of], arrival.group_size, arrival.group_position};
  };
  for (size_t other = 0; other < meeting.arrivals.size(); ++other) {
    if (other == member || !meeting.arrivals[other]) continue;
    const size_t low = std::min(member, other);
    std::string text = mismatchText({.team = ranks_, .epoch = epoch_, .number = number}, operationOf(low),
                                    operationOf(std::max(member, other)));
    if (!text.empty()) return breakLocked({CommunicationFault::Mismatch, channel.members[low], std::move(text)});
  }
}

void MpiTeamTable::noteLeft(int64_t rank) {
  has_left_[positionIn(rank)] = 1;
  is_out_[positionIn(rank)] = 1;
}

void MpiTeamTable::breakIfMissed(const MpiChannel& channel, int64_t number) {
  const MpiMeeting& meeting = channel.meetings.at(number);
  for (size_t member = 0; member < meeting.arrivals.size(); ++member) {
    const int64_t rank = channel.members[member];
    if (meeting.arrivals[member] || has_left_[positionIn(rank)] == 0) continue;
    return breakLocked(
        {CommunicationFault::Left, rank,
         fmt::format("rank {} left the job before {}", rank, operationName(channel, meeting.kind, number))});
  }
}

// The first operation of the channel that this rank is in and the dead one has not gone on from.
std::string MpiTeamTable::deathText(const MpiChannel& channel, int64_t rank) const {
  for (const auto& [number, meeting] : channel.meetings) {
    const int64_t own = positionOf(channel.members, world_.rank());
    const int64_t dead = positionOf(channel.members, rank);
    if (own < 0 || dead < 0 || !meeting.arrivals[static_cast<size_t>(own)]) continue;
    return fmt::format("rank {} died {} {}", rank, meeting.arrivals[static_cast<size_t>(dead)] ? "in" : "before",
                       operationName(channel, meeting.kind, number));
  }
  return {};
}

void MpiTeamTable::noteDeath(int64_t rank) {
  is_out_[positionIn(rank)] = 1;
  std::string text = deathText(collectives_, rank);
  for (const auto& [pair, channel] : transfers_)
    if (text.empty()) text = deathText(channel, rank);
  if (text.empty()) {
    const LastOperation& last = lastOf(rank);
    text = fmt::format("rank {} died; ", rank);
    text += last.number < 0 ? fmt::format("it came to no operation of its team of {} ranks", ranks_.size())
                            : "the last one that it came to is " + operationName(collectives_, last.kind, last.number);
  }
  breakLocked({CommunicationFault::Died, rank, std::move(text)});
}

void MpiTeamTable::noteOut(int64_t rank, Breakage breakage) {
  is_out_[positionIn(rank)] = 1;
  breakLocked(std::move(breakage));
}

void MpiTeamTable::breakBecauseOfTime(const MpiChannel& channel, int64_t number) {
  const MpiMeeting& meeting = channel.meetings.at(number);
  const auto missing = std::ranges::find_if(meeting.arrivals, [](const auto& arrival) { return !arrival; });
  const int64_t rank = channel.members[static_cast<size_t>(missing - meeting.arrivals.begin())];
  breakLocked({CommunicationFault::TimedOut, rank,
               lateText(rank, operationName(channel, meeting.kind, number), timeout_.count(), lastOf(rank)) +
                   world_.stateText(rank)});
}

void MpiTeamTable::breakAtEndBecauseOfTime(const MpiChannel& channel, int64_t number, int64_t rank) {
  const MpiMeeting& meeting = channel.meetings.at(number);
  breakLocked(
      {CommunicationFault::TimedOut, rank,
       lateEndText(rank, operationName(channel, meeting.kind, number), timeout_.count()) + world_.stateText(rank)});
}

void MpiTeamTable::breakUp(Breakage breakage) noexcept {
  const std::lock_guard lock(world_.mutex());
  breakLocked(std::move(breakage));
}

void MpiTeamTable::breakLocked(Breakage breakage) {
  if (breakage_) return;
  breakage_ = std::move(breakage);
  if (breakage_->fault == CommunicationFault::TimedOut) world_.noteLate(breakage_->rank);
  is_broken_.store(true, std::memory_order_release);
  for (const int64_t rank : ranks_) {
    if (rank == world_.rank()) continue;
    MpiMessageWriter message(MpiMessageKind::Broken, job_);
    message.add(ranks_);
    message.add(epoch_);
    message.add(*breakage_);
    world_.tell(rank, message.take());
  }
}

void MpiTeamTable::requireWhole() const {
  if (isBroken()) raiseOf(*breakage_);
}

OperationPlace MpiTeamTable::placeOf(const MpiChannel& channel, int64_t number) const {
  OperationPlace place = {.team = ranks_, .epoch = epoch_, .number = number};
  if (&channel != &collectives_) place.transfer = channel.members;
  return place;
}

std::string MpiTeamTable::operationName(const MpiChannel& channel, CommunicationKind kind, int64_t number) const {
  return tokamak::operationName(placeOf(channel, number), kind);
}

MpiTeamTable::Scratch MpiTeamTable::takeScratch(int64_t bytes) {
  if (scratch_.size >= bytes) return std::exchange(scratch_, {});
  return {.bytes = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes)), .size = bytes};
}

void MpiTeamTable::giveBack(Scratch scratch) {
  if (scratch.size > scratch_.size) scratch_ = std::move(scratch);
}

}  // namespace tokamak
