#include "dist/nccl/nccl_team_table.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/text.h"

namespace tokamak {

namespace {

// How a channel is named in messages: the collectives are from nobody to nobody.
std::pair<int64_t, int64_t> endsOf(const NcclChannel& channel, const NcclChannel& collectives) {
  if (&channel == &collectives) return {-1, -1};
  return {channel.members[0], channel.members[1]};
}

}  // namespace

NcclTeamTable::NcclTeamTable(RankSockets& sockets, std::vector<int64_t> ranks, int64_t epoch,
                             std::chrono::milliseconds timeout)
    : sockets_(sockets),
      ranks_(std::move(ranks)),
      epoch_(epoch),
      timeout_(timeout),
      is_out_(ranks_.size()),
      left_(ranks_.size()),
      last_(ranks_.size()),
      collectives_{.members = ranks_},
      remembered_(kRemembered) {
  runs_.reserve(2 * ranks_.size() + 1);
}

NcclChannel& NcclTeamTable::transfers(int64_t from, int64_t to) {
  const std::lock_guard lock(mutex_);
  return channelAt(from, to);
}

NcclChannel& NcclTeamTable::channelAt(int64_t from, int64_t to) {
  if (from < 0) return collectives_;
  NcclChannel& channel = transfers_[{from, to}];
  if (channel.members.empty()) channel.members = {from, to};
  return channel;
}

OperationPlace NcclTeamTable::placeOf(const NcclChannel& channel, int64_t number) const {
  OperationPlace place = {.team = ranks_, .epoch = epoch_, .number = number};
  if (&channel != &collectives_) place.transfer = channel.members;
  return place;
}

std::string NcclTeamTable::nameOf(const NcclChannel& channel, CommunicationKind kind,
                                  std::optional<int64_t> number) const {
  if (number) return operationName(placeOf(channel, *number), kind);
  const std::lock_guard lock(mutex_);
  return operationName(placeOf(channel, channel.next), kind);
}

MessageWriter NcclTeamTable::messageOf(NcclMessage kind) const {
  MessageWriter message;
  message.add(static_cast<int64_t>(kind)).add(std::span<const int64_t>(ranks_)).add(epoch_);
  return message;
}

void NcclTeamTable::tellMembers(std::span<const int64_t> members, const MessageWriter& message) {
  for (const int64_t member : members)
    if (member != rank()) sockets_.tell(member, message.bytes());
}

void NcclTeamTable::requireWholeLocked() const {
  if (breakage_) raiseOf(*breakage_);
}

void NcclTeamTable::requireWhole() const {
  if (isBroken()) raiseOf(*breakage_);
}

void NcclTeamTable::breakUp(Breakage breakage) noexcept {
  const std::lock_guard lock(mutex_);
  breakLocked(std::move(breakage));
}

void NcclTeamTable::breakLocked(Breakage breakage) {
  if (breakage_) return;
  breakage_ = std::move(breakage);
  is_broken_.store(true, std::memory_order_release);
  tellMembers(ranks_, messageOf(NcclMessage::Broken).add(*breakage_));
  tellOutIfQuiet();
  changed_.notify_all();
}

// Others may wait for this rank to read their memory no more.
void NcclTeamTable::tellOutIfQuiet() {
  if ((!breakage_ && !is_left_) || !runs_.empty() || is_out_told_) return;
  is_out_told_ = true;
  is_out_[positionIn(rank())] = 1;
  tellMembers(ranks_, messageOf(NcclMessage::Out));
  changed_.notify_all();
}

// A member that did not come to the operation, and will not.
std::optional<int64_t> NcclTeamTable::findLeft(const NcclRun::Item& item) const {
  for (const int64_t member : item.channel->members) {
    const auto& left = left_[positionIn(member)];
    if (!left) continue;
    const auto count = left->find(endsOf(*item.channel, collectives_));
    if (count == left->end() || item.number >= count->second) return member;
  }
  return {};
}

void NcclTeamTable::breakIfLeft(const NcclRun& run) {
  for (const NcclRun::Item& item : run.items)
    if (const std::optional<int64_t> member = findLeft(item))
      breakLocked({CommunicationFault::Left, *member,
                   fmt::format("rank {} left the job before {}", *member,
                               operationName(placeOf(*item.channel, item.number), item.arrival->request.kind))});
}

bool NcclTeamTable::isConcerned(const NcclRun& run) const {
  const std::lock_guard lock(mutex_);
  if (breakage_->fault != CommunicationFault::Left || breakage_->rank == rank()) return true;
  return std::ranges::any_of(run.items, [&](const NcclRun::Item& item) { return findLeft(item).has_value(); });
}

void NcclTeamTable::remember(const NcclRun& run) {
  for (const NcclRun::Item& item : run.items) {
    remembered_[remembered_count_++ % kRemembered] = {item.channel, item.number, item.arrival};
    own_last_ = {item.arrival->request.kind, item.number};
  }
}

void NcclTeamTable::begin(NcclRun& run) {
  const std::lock_guard lock(mutex_);
  requireWholeLocked();
  run.has_arrived = run.is_told = false;
  for (NcclRun::Item& item : run.items) item.number = item.channel->next++;
  remember(run);
  runs_.push_back(&run);
}

void NcclTeamTable::arrive(NcclRun& run) {
  const std::lock_guard lock(mutex_);
  run.has_arrived = true;
  breakIfLeft(run);
  requireWholeLocked();
  const auto isWaitedFor = [](const NcclRun::Item& item) { return item.channel->waiting.contains(item.number); };
  if (std::ranges::any_of(run.items, isWaitedFor)) tellWaitingLocked(run);
}

void NcclTeamTable::tellWaiting(NcclRun& run) {
  const std::lock_guard lock(mutex_);
  tellWaitingLocked(run);
}

void NcclTeamTable::addOwn(const NcclRun& run) {
  for (const NcclRun::Item& item : run.items) {
    auto& arrivals = item.channel->waiting[item.number];
    arrivals.resize(item.channel->members.size());
    arrivals[static_cast<size_t>(positionOf(item.channel->members, rank()))] = item.arrival;
  }
}

MessageWriter NcclTeamTable::waitingMessage(const NcclChannel& channel, int64_t number, const NcclArrival& arrival,
                                            bool is_answer) const {
  const auto [from, to] = endsOf(channel, collectives_);
  MessageWriter message = messageOf(NcclMessage::Waiting);
  message.add(from).add(to).add(number).add(int64_t{is_answer}).add(arrival.group_size).add(arrival.group_position);
  message.add(int64_t{arrival.is_grouped}).add(arrival.request);
  return message;
}

// Of the last ones.
const NcclArrival* NcclTeamTable::findOwn(const NcclChannel& channel, int64_t number) const {
  const auto isThis = [&](const Remembered& one) { return one.channel == &channel && one.number == number; };
  const auto found = std::ranges::find_if(remembered_, isThis);
  return found == remembered_.end() ? nullptr : found->arrival.get();
}

void NcclTeamTable::tellWaitingLocked(NcclRun& run) {
  if (std::exchange(run.is_told, true)) return;
  addOwn(run);
  for (const NcclRun::Item& item : run.items) {
    const MessageWriter message = waitingMessage(*item.channel, item.number, *item.arrival, false);
    tellMembers(item.channel->members, message);
  }
  for (const NcclRun::Item& item : run.items) compare(*item.channel, item.number);
}

// The first two that differ.
void NcclTeamTable::compare(const NcclChannel& channel, int64_t number) {
  const auto& arrivals = channel.waiting.at(number);
  for (size_t high = 1; high < arrivals.size(); ++high) {
    for (size_t low = 0; low < high; ++low) {
      if (!arrivals[low] || !arrivals[high]) continue;
      const NcclArrival& a = *arrivals[low];
      const NcclArrival& b = *arrivals[high];
      const OperationPlace place = {.team = ranks_, .epoch = epoch_, .number = number};
      std::string text = mismatchText(place, {a.request, channel.members[low], a.group_size, a.group_position},
                                      {b.request, channel.members[high], b.group_size, b.group_position});
      if (text.empty() && a.is_grouped != b.is_grouped)
        text = fmt::format("{} is in a group on rank {} and in none on rank {}; over NCCL it is so on both",
                           operationName(placeOf(channel, number), a.request.kind),
                           channel.members[a.is_grouped ? low : high], channel.members[a.is_grouped ? high : low]);
      if (!text.empty()) return breakLocked({CommunicationFault::Mismatch, channel.members[low], std::move(text)});
    }
  }
}

void NcclTeamTable::receiveWaiting(int64_t rank, MessageReader& message) {
  const int64_t from = message.number();
  const int64_t to = message.number();
  NcclChannel& channel = channelAt(from, to);
  const int64_t number = message.number();
  const bool is_answer = message.number() != 0;
  NcclArrival arrival;
  arrival.group_size = message.number();
  arrival.group_position = message.number();
  arrival.is_grouped = message.number() != 0;
  arrival.request = message.request();
  if (last_[positionIn(rank)].number < number) last_[positionIn(rank)] = {arrival.request.kind, number};
  const auto isHere = [&](const NcclRun* run) {
    return std::ranges::any_of(run->items,
                               [&](const auto& item) { return item.channel == &channel && item.number == number; });
  };
  const auto run = std::ranges::find_if(runs_, isHere);
  const bool is_over = run == runs_.end() && number < channel.next;
  if (is_over) {  // here, and not there
    const NcclArrival* const own = findOwn(channel, number);
    if (own != nullptr && !is_answer) sockets_.tell(rank, waitingMessage(channel, number, *own, true).bytes());
    return;
  }
  auto& arrivals = channel.waiting[number];
  arrivals.resize(channel.members.size());
  arrivals[static_cast<size_t>(positionOf(channel.members, rank))] =
      std::make_shared<const NcclArrival>(std::move(arrival));
  compare(channel, number);
  if (run != runs_.end() && (*run)->has_arrived) return tellWaitingLocked(**run);
  MessageWriter answer = messageOf(NcclMessage::Last);
  // What it came to, not what it has queued behind other work.
  answer.add(static_cast<int64_t>(own_last_.kind)).add(run == runs_.end() ? own_last_.number : own_last_.number - 1);
  sockets_.tell(rank, answer.bytes());
}

void NcclTeamTable::breakBecauseOfTime(const NcclRun& run) {
  const std::lock_guard lock(mutex_);
  for (const NcclRun::Item& item : run.items) {
    const std::string name = operationName(placeOf(*item.channel, item.number), item.arrival->request.kind);
    const auto found = item.channel->waiting.find(item.number);
    for (size_t member = 0; member < item.channel->members.size(); ++member) {
      const int64_t other = item.channel->members[member];
      if (other == rank() || (found != item.channel->waiting.end() && found->second[member])) continue;
      return breakLocked(
          {CommunicationFault::TimedOut, other, lateText(other, name, timeout_.count(), last_[positionIn(other)])});
    }
  }
  const NcclRun::Item& first = run.items[0];
  breakLocked({CommunicationFault::TimedOut, rank(),
               lateEndText(rank(), operationName(placeOf(*first.channel, first.number), first.arrival->request.kind),
                           timeout_.count())});
}

void NcclTeamTable::end(NcclRun& run) {
  const std::lock_guard lock(mutex_);
  std::erase(runs_, &run);
  for (const NcclRun::Item& item : run.items)
    if (!item.channel->waiting.empty()) item.channel->waiting.erase(item.number);
  tellOutIfQuiet();
}

void NcclTeamTable::waitForOthers(std::chrono::milliseconds longest) {
  const auto isOver = [&] {
    for (const int64_t member : ranks_)
      if (member != rank() && is_out_[positionIn(member)] == 0 && !sockets_.isDead(member)) return false;
    return true;
  };
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, longest, isOver);
}

const nccl::UniqueId* NcclTeamTable::findId(NcclChannel& channel, std::chrono::microseconds longest) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, longest, [&] { return channel.id || breakage_; });
  return channel.id ? &*channel.id : nullptr;
}

void NcclTeamTable::giveId(NcclChannel& channel, const nccl::UniqueId& id) {
  const std::lock_guard lock(mutex_);
  channel.id = id;
  const auto [from, to] = endsOf(channel, collectives_);
  tellMembers(channel.members,
              messageOf(NcclMessage::Id).add(from).add(to).add(std::string_view(id.bytes, sizeof(id.bytes))));
}

void NcclTeamTable::receive(NcclMessage kind, int64_t rank, MessageReader& message) {
  const std::lock_guard lock(mutex_);
  switch (kind) {
    case NcclMessage::Id: {
      const int64_t from = message.number();
      NcclChannel& channel = channelAt(from, message.number());
      const std::vector<std::byte> bytes = message.bytes();
      std::memcpy(channel.id.emplace().bytes, bytes.data(), std::min(bytes.size(), sizeof(nccl::UniqueId)));
      break;
    }
    case NcclMessage::Waiting: receiveWaiting(rank, message); break;
    case NcclMessage::Last: {
      const auto last = static_cast<CommunicationKind>(message.number());
      last_[positionIn(rank)] = {last, message.number()};
      break;
    }
    case NcclMessage::Broken: breakLocked(message.breakage()); break;
    case NcclMessage::Out: is_out_[positionIn(rank)] = 1; break;
    case NcclMessage::Left: break;
  }
  changed_.notify_all();
}

void NcclTeamTable::noteDeath(int64_t rank) {
  const std::lock_guard lock(mutex_);
  is_out_[positionIn(rank)] = 1;
  std::string text = fmt::format("rank {} died, and is of team ({})", rank, joined(ranks_, " "));
  for (const NcclRun* run : runs_) {
    const NcclRun::Item& item = run->items[0];
    text = fmt::format("rank {} died before the end of {}", rank,
                       operationName(placeOf(*item.channel, item.number), item.arrival->request.kind));
  }
  breakLocked({CommunicationFault::Died, rank, std::move(text)});
  changed_.notify_all();
}

void NcclTeamTable::addCounts(MessageWriter& message) const {
  const std::lock_guard lock(mutex_);
  std::vector<int64_t> counts = {-1, -1, collectives_.next};
  for (const auto& [ends, channel] : transfers_) counts.insert(counts.end(), {ends.first, ends.second, channel.next});
  message.add(std::span<const int64_t>(counts));
}

void NcclTeamTable::noteLeft(int64_t rank, MessageReader* message) {
  const std::lock_guard lock(mutex_);
  auto& left = left_[positionIn(rank)].emplace();
  const std::vector<int64_t> counts = message == nullptr ? std::vector<int64_t>() : message->numbers();
  for (size_t i = 0; i + 2 < counts.size(); i += 3) left[{counts[i], counts[i + 1]}] = counts[i + 2];
  is_left_ = true;
  is_out_[positionIn(rank)] = 1;
  for (const NcclRun* run : runs_)
    if (run->has_arrived) breakIfLeft(*run);
  tellOutIfQuiet();
  changed_.notify_all();
}

void NcclTeamTable::close() {
  {
    const std::lock_guard lock(mutex_);
    if (!breakage_) {
      breakage_ = {CommunicationFault::Left, rank(), fmt::format("rank {} left the job", rank())};
      is_broken_.store(true, std::memory_order_release);
    }
    is_out_[positionIn(rank())] = 1;
  }
  waitForOthers(std::chrono::milliseconds(1000));
  if (collectives_.connection != nullptr) collectives_.connection->tearDown();
  for (auto& [ends, channel] : transfers_)
    if (channel.connection != nullptr) channel.connection->tearDown();
}

}  // namespace tokamak
