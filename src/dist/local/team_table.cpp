#include "dist/local/team_table.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "dist/local/local_faults.h"

namespace tokamak {

namespace {

bool areAllPresent(const Meeting& meeting) { return meeting.present == static_cast<int64_t>(meeting.stages.size()); }

bool isNew(const Meeting& meeting) { return meeting.number < 0; }

}  // namespace

TeamTable::TeamTable(std::vector<int64_t> ranks, int64_t epoch, std::chrono::milliseconds timeout)
    : TeamState(std::move(ranks), epoch, timeout),
      has_left_(ranks_.size()),
      last_seen_(ranks_.size()),
      collectives_(ranks_) {}

Channel& TeamTable::collectives(int64_t operations) {
  const HideFromSanitizer hide;
  const std::lock_guard lock(mutex_);
  reserve(collectives_, static_cast<size_t>(operations));
  return collectives_;
}

Channel& TeamTable::sends(int64_t from, int64_t to, int64_t operations) {
  const HideFromSanitizer hide;
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Channel>& channel = sends_[{from, to}];
  if (channel == nullptr) channel = std::make_unique<Channel>(std::vector<int64_t>{from, to});
  reserve(*channel, static_cast<size_t>(operations));
  return *channel;
}

// A member may be at its next work while others are still at the one before. Two numbers that meet at one place of the
// longer ring met in the shorter one, too.
void TeamTable::reserve(Channel& channel, size_t operations) {
  const size_t size = std::bit_ceil(2 * operations);
  if (size <= channel.meetings.size()) return;
  std::vector<std::unique_ptr<Meeting>> meetings(size);
  for (std::unique_ptr<Meeting>& meeting : channel.meetings)
    if (!isNew(*meeting)) meetings[static_cast<size_t>(meeting->number) % size] = std::move(meeting);
  for (std::unique_ptr<Meeting>& meeting : meetings)
    if (meeting == nullptr) meeting = std::make_unique<Meeting>(channel.members.size());
  channel.meetings = std::move(meetings);
}

Meeting& TeamTable::meetingAt(Channel& channel, int64_t number) {
  while (true) {
    Meeting& meeting = *channel.meetings[static_cast<size_t>(number) % channel.meetings.size()];
    if (isNew(meeting)) meeting.number = number;
    if (meeting.number == number) return meeting;
    reserve(channel, channel.meetings.size());
  }
}

void TeamTable::arrive(Visit& visit, const Arrival& arrival) {
  Channel& channel = *visit.channel;
  sendEdge(&channel.edges[visit.member].arrived);
  const HideFromSanitizer hide;
  const std::lock_guard lock(mutex_);
  if (breakage_) raiseBreakage();
  const int64_t number = channel.next[visit.member]++;
  Meeting& meeting = meetingAt(channel, number);
  visit.meeting = &meeting;
  meeting.arrivals[visit.member] = arrival;
  meeting.stages[visit.member] = MeetingStage::Arrived;
  if (meeting.present++ == 0) meeting.kind = arrival.request->kind;
  last_seen_[positionIn(channel.members[visit.member])] = {arrival.request->kind, number};
  compareWithOthers(channel, meeting, visit.member);
  breakIfMissed(channel, meeting);
  if (areAllPresent(meeting)) channel.changed.notify_all();
}

void TeamTable::compareWithOthers(const Channel& channel, const Meeting& meeting, size_t member) {
  const auto operationOf = [&](size_t of) {
    const Arrival& arrival = meeting.arrivals[of];
    return RankOperation{*arrival.request, channel.members[of], arrival.group_size, arrival.group_position};
  };
  for (size_t other = 0; other < meeting.stages.size(); ++other) {
    if (other == member || meeting.stages[other] == MeetingStage::Absent) continue;
    const size_t low = std::min(member, other);
    std::string text = mismatchText({.team = ranks_, .epoch = epoch_, .number = meeting.number}, operationOf(low),
                                    operationOf(std::max(member, other)));
    if (!text.empty()) breakLocked({CommunicationFault::Mismatch, channel.members[low], std::move(text)});
  }
}

void TeamTable::waitForAll(const Visit& visit) {
  const auto is_anybody = [](const Meeting&, size_t, size_t, std::span<const int64_t>) { return true; };
  waitFor(visit, MeetingStage::Arrived, is_anybody);
  const HideFromSanitizer hide;
  const std::lock_guard lock(mutex_);
  if (breakage_) raiseBreakage();
  visit.meeting->is_reading[visit.member] = 1;
  ++visit.meeting->reading;
}

void TeamTable::reach(const Visit& visit, MeetingStage stage) {
  if (stage == MeetingStage::Reduced) sendEdge(&visit.channel->edges[visit.member].reduced);
  const HideFromSanitizer hide;
  const std::lock_guard lock(mutex_);
  Meeting& meeting = *visit.meeting;
  meeting.stages[visit.member] = stage;
  if (stage == MeetingStage::Done) {
    meeting.is_reading[visit.member] = 0;
    --meeting.reading;
  }
  visit.channel->changed.notify_all();
}

void TeamTable::waitFor(const Visit& visit, MeetingStage stage, IsAwaited is_awaited) {
  const auto deadline = std::chrono::steady_clock::now() + timeout_;
  const HideFromSanitizer hide;
  std::unique_lock lock(mutex_);
  const Meeting& meeting = *visit.meeting;
  bool is_late = false;
  while (true) {
    size_t missing = 0;
    while (missing < meeting.stages.size() &&
           (meeting.stages[missing] >= stage || !is_awaited(meeting, visit.member, missing, ranks_)))
      ++missing;
    if (missing == meeting.stages.size()) return;
    if (is_late && !breakage_) breakBecauseOfTime(*visit.channel, meeting, missing, stage);
    if (breakage_) raiseBreakage();
    is_late = visit.channel->changed.wait_until(lock, deadline) == std::cv_status::timeout;
  }
}

void TeamTable::depart(Visit& visit) noexcept {
  if (visit.meeting == nullptr) return;
  {
    const HideFromSanitizer hide;
    std::unique_lock lock(mutex_);
    Meeting& meeting = *visit.meeting;
    if (meeting.is_reading[visit.member] != 0) {
      meeting.is_reading[visit.member] = 0;
      --meeting.reading;
    }
    if (breakage_) visit.channel->changed.notify_all();
    while (breakage_ && meeting.reading > 0) visit.channel->changed.wait(lock);
    meeting.stages[visit.member] = MeetingStage::Out;
    if (++meeting.out == static_cast<int64_t>(meeting.stages.size())) {
      std::ranges::fill(meeting.stages, MeetingStage::Absent);
      meeting.number = -1;
      meeting.present = meeting.out = 0;
    }
  }
  receiveEdge(&visit.channel->edges[visit.member].read);
  visit.meeting = nullptr;
}

void TeamTable::breakUp(Breakage breakage) noexcept {
  const HideFromSanitizer hide;
  const std::lock_guard lock(mutex_);
  breakLocked(std::move(breakage));
}

void TeamTable::breakLocked(Breakage breakage) {
  if (breakage_) return;
  breakage_ = std::move(breakage);
  collectives_.changed.notify_all();
  for (const auto& [pair, channel] : sends_) channel->changed.notify_all();
}

bool TeamTable::isBroken() const {
  const HideFromSanitizer hide;
  const std::lock_guard lock(mutex_);
  return breakage_.has_value();
}

void TeamTable::requireWhole() const {
  const HideFromSanitizer hide;
  const std::lock_guard lock(mutex_);
  if (breakage_) raiseBreakage();
}

void TeamTable::raiseBreakage() const { raiseOf(*breakage_); }

void TeamTable::noteLeft(int64_t rank) {
  const HideFromSanitizer hide;
  const std::lock_guard lock(mutex_);
  has_left_[positionIn(rank)] = 1;
  for (const auto& meeting : collectives_.meetings) breakIfMissed(collectives_, *meeting);
  for (const auto& [pair, channel] : sends_)
    for (const auto& meeting : channel->meetings) breakIfMissed(*channel, *meeting);
}

void TeamTable::breakIfMissed(const Channel& channel, const Meeting& meeting) {
  if (isNew(meeting) || breakage_) return;
  for (size_t member = 0; member < meeting.stages.size(); ++member) {
    const int64_t rank = channel.members[member];
    if (meeting.stages[member] != MeetingStage::Absent || has_left_[positionIn(rank)] == 0) continue;
    breakLocked(
        {CommunicationFault::Left, rank,
         fmt::format("rank {} left the job before {}", rank, operationName(channel, meeting.kind, meeting.number))});
  }
}

void TeamTable::breakBecauseOfTime(const Channel& channel, const Meeting& meeting, size_t missing, MeetingStage stage) {
  const int64_t rank = channel.members[missing];
  const std::string operation = operationName(channel, meeting.kind, meeting.number);
  std::string text = stage == MeetingStage::Arrived
                         ? lateText(rank, operation, timeout_.count(), last_seen_[positionIn(rank)])
                         : lateEndText(rank, operation, timeout_.count());
  breakLocked({CommunicationFault::TimedOut, rank, std::move(text)});
}

std::string TeamTable::operationName(const Channel& channel, CommunicationKind kind, int64_t number) const {
  OperationPlace place = {.team = ranks_, .epoch = epoch_, .number = number};
  if (&channel != &collectives_) place.transfer = channel.members;
  return tokamak::operationName(place, kind);
}

int64_t TeamTable::nextNumber(const Channel& channel, size_t member) const {
  const HideFromSanitizer hide;
  const std::lock_guard lock(mutex_);
  return channel.next[member];
}

uint64_t TeamTable::keyOf(const Channel& channel, int64_t number) const {
  uint64_t key = mixed(static_cast<uint64_t>(epoch_), static_cast<uint64_t>(number));
  for (const int64_t rank : ranks_) key = mixed(key, static_cast<uint64_t>(rank));
  if (&channel != &collectives_)
    for (const int64_t rank : channel.members) key = mixed(key, static_cast<uint64_t>(rank));
  return key;
}

}  // namespace tokamak
