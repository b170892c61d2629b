#include "dist/nccl/nccl_team_table.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace tokamak {

NcclTeamTable::NcclTeamTable(RankSockets& sockets, std::vector<int64_t> ranks, int64_t epoch,
                             std::chrono::milliseconds timeout)
    : SocketTeamTable(sockets, std::move(ranks), epoch, timeout), remembered_(kRemembered) {
  runs_.reserve(2 * ranks_.size() + 1);
}

void NcclTeamTable::remember(const NcclRun& run) {
  for (const Item& item : run.items) {
    remembered_[remembered_count_++ % kRemembered] = {item.channel, item.number, item.arrival};
    own_last_ = {item.arrival->request.kind, item.number};
  }
}

void NcclTeamTable::begin(NcclRun& run) {
  const std::lock_guard lock(mutex_);
  requireWhole();
  run.has_arrived = run.is_told = false;
  for (Item& item : run.items) item.number = item.channel->next++;
  remember(run);
  runs_.push_back(&run);
}

void NcclTeamTable::arrive(NcclRun& run) {
  const std::lock_guard lock(mutex_);
  run.has_arrived = true;
  breakIfLeft(run);
  requireWhole();
  const auto isWaitedFor = [](const Item& item) { return item.channel->waiting.contains(item.number); };
  if (std::ranges::any_of(run.items, isWaitedFor)) tellWaitingLocked(run);
}

void NcclTeamTable::tellWaiting(NcclRun& run) {
  const std::lock_guard lock(mutex_);
  tellWaitingLocked(run);
}

void NcclTeamTable::addOwn(const NcclRun& run) {
  for (const Item& item : run.items) {
    auto& arrivals = item.channel->waiting[item.number];
    arrivals.resize(item.channel->members.size());
    arrivals[static_cast<size_t>(positionOf(item.channel->members, rank()))] = item.arrival;
  }
}

MessageWriter NcclTeamTable::waitingMessage(const NcclChannel& channel, int64_t number, const SocketArrival& arrival,
                                            bool is_answer) const {
  MessageWriter message = messageOf(static_cast<uint8_t>(NcclMessage::Waiting), channel);
  message.add(number).add(int64_t{is_answer}).add(arrival.group_size).add(arrival.group_position);
  message.add(int64_t{arrival.is_grouped}).add(arrival.request);
  return message;
}

// Of the last ones.
const SocketArrival* NcclTeamTable::findOwn(const NcclChannel& channel, int64_t number) const {
  const auto isThis = [&](const Remembered& one) { return one.channel == &channel && one.number == number; };
  const auto found = std::ranges::find_if(remembered_, isThis);
  return found == remembered_.end() ? nullptr : found->arrival.get();
}

void NcclTeamTable::tellWaitingLocked(NcclRun& run) {
  if (std::exchange(run.is_told, true)) return;
  addOwn(run);
  for (const Item& item : run.items) {
    const MessageWriter message = waitingMessage(*item.channel, item.number, *item.arrival, false);
    tellMembers(item.channel->members, message);
  }
  for (const Item& item : run.items) compare(*item.channel, item.number);
}

// The first two that differ.
void NcclTeamTable::compare(const NcclChannel& channel, int64_t number) {
  const auto& arrivals = channel.waiting.at(number);
  for (size_t high = 1; high < arrivals.size(); ++high) {
    for (size_t low = 0; low < high; ++low) {
      if (!arrivals[low] || !arrivals[high]) continue;
      const SocketArrival& a = *arrivals[low];
      const SocketArrival& b = *arrivals[high];
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
  NcclChannel& channel = readChannel(message);
  const int64_t number = message.number();
  const bool is_answer = message.number() != 0;
  SocketArrival arrival;
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
    const SocketArrival* const own = findOwn(channel, number);
    if (own != nullptr && !is_answer) sockets_.tell(rank, waitingMessage(channel, number, *own, true).bytes());
    return;
  }
  auto& arrivals = channel.waiting[number];
  arrivals.resize(channel.members.size());
  arrivals[static_cast<size_t>(positionOf(channel.members, rank))] =
      std::make_shared<const SocketArrival>(std::move(arrival));
  compare(channel, number);
  if (run != runs_.end() && (*run)->has_arrived) return tellWaitingLocked(**run);
  MessageWriter answer = SocketTeam::messageOf(static_cast<uint8_t>(NcclMessage::Last));
  // What it came to, not what it has queued behind other work.
  answer.add(static_cast<int64_t>(own_last_.kind)).add(run == runs_.end() ? own_last_.number : own_last_.number - 1);
  sockets_.tell(rank, answer.bytes());
}

void NcclTeamTable::breakBecauseOfTime(const NcclRun& run) {
  const std::lock_guard lock(mutex_);
  for (const Item& item : run.items) {
    const std::string name = nameOf(item);
    const auto found = item.channel->waiting.find(item.number);
    for (size_t member = 0; member < item.channel->members.size(); ++member) {
      const int64_t other = item.channel->members[member];
      if (other == rank() || (found != item.channel->waiting.end() && found->second[member])) continue;
      return breakLocked(
          {CommunicationFault::TimedOut, other, lateText(other, name, timeout_.count(), last_[positionIn(other)])});
    }
  }
  const Item& first = run.items[0];
  breakLocked({CommunicationFault::TimedOut, rank(), lateEndText(rank(), nameOf(first), timeout_.count())});
}

void NcclTeamTable::end(NcclRun& run) {
  const std::lock_guard lock(mutex_);
  std::erase(runs_, &run);
  for (const Item& item : run.items)
    if (!item.channel->waiting.empty()) item.channel->waiting.erase(item.number);
  tellOutIfQuiet();
}

const nccl::UniqueId* NcclTeamTable::findId(NcclChannel& channel, std::chrono::microseconds longest) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, longest, [&] { return channel.id || breakage_; });
  return channel.id ? &*channel.id : nullptr;
}

void NcclTeamTable::giveId(NcclChannel& channel, const nccl::UniqueId& id) {
  const std::lock_guard lock(mutex_);
  channel.id = id;
  tellMembers(
      channel.members,
      messageOf(static_cast<uint8_t>(NcclMessage::Id), channel).add(std::string_view(id.bytes, sizeof(id.bytes))));
}

void NcclTeamTable::receiveOwn(uint8_t kind, int64_t rank, MessageReader& message) {
  switch (static_cast<NcclMessage>(kind)) {
    case NcclMessage::Id: {
      NcclChannel& channel = readChannel(message);
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
  }
}

void NcclTeamTable::close() {
  SocketTeam::close();
  if (collectives_.connection != nullptr) collectives_.connection->tearDown();
  for (auto& [ends, channel] : transfers_)
    if (channel.connection != nullptr) channel.connection->tearDown();
}

}  // namespace tokamak
