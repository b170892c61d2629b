#include "dist/peer_copy/peer_team_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace tokamak {

namespace {

bool hasCome(const PeerChannel::Visit& visit) { return visit.arrival != nullptr; }

}  // namespace

std::span<const size_t> PeerRun::Item::awaited(PeerFlag flag) const {
  if (flag == PeerFlag::Reduced && arrival->request.kind != CommunicationKind::Allreduce) return {};
  return flag == PeerFlag::Done ? readers : owners;
}

PeerTeamTable::PeerTeamTable(RankSockets& sockets, PeerMemory& memory, PeerFlags& flags, std::vector<int64_t> ranks,
                             int64_t epoch, std::chrono::milliseconds timeout)
    : SocketTeamTable(sockets, std::move(ranks), epoch, timeout), memory_(memory), flags_(flags) {}

void PeerTeamTable::addFlags(PeerChannel& channel) {
  if (channel.flags != nullptr) return;
  uint64_t* const flags = flags_.take(static_cast<int64_t>(kPeerFlags * channel.members.size()));
  channel.flags_of[static_cast<size_t>(positionOf(channel.members, rank()))] = memory_.share(flags);
  channel.flags = flags;
}

PeerChannel& PeerTeamTable::collectives() {
  const std::lock_guard lock(mutex_);
  addFlags(collectives_);
  return collectives_;
}

PeerChannel& PeerTeamTable::transfers(int64_t from, int64_t to) {
  const std::lock_guard lock(mutex_);
  PeerChannel& channel = channelAt({from, to});
  addFlags(channel);
  return channel;
}

MessageWriter PeerTeamTable::messageOf(PeerMessage kind, const PeerChannel& channel, int64_t number) const {
  MessageWriter message = SocketTeamTable::messageOf(static_cast<uint8_t>(kind), channel);
  message.add(number);
  return message;
}

void PeerTeamTable::begin(PeerRun& run) {
  const std::lock_guard lock(mutex_);
  requireWhole();
  for (PeerRun::Item& item : run.items) {
    item.number = item.channel->next++;
    item.is_ready_told = false;
  }
  runs_.push_back(&run);
  breakIfLeft(run);  // before anything is written to its flags, which may be gone
}

PeerChannel::Visit& PeerTeamTable::visitAt(PeerChannel& channel, int64_t number, size_t member) {
  std::vector<PeerChannel::Visit>& visits = channel.visits[number];
  visits.resize(channel.members.size());
  return visits[member];
}

void PeerTeamTable::arrive(PeerRun& run) {
  const std::lock_guard lock(mutex_);
  for (const PeerRun::Item& item : run.items) {
    PeerChannel& channel = *item.channel;
    PeerChannel::Visit& own = visitAt(channel, item.number, item.member);
    own.arrival = item.arrival;
    own.input = item.input;
    own.output = item.output;
    MessageWriter message = messageOf(PeerMessage::Arrived, channel, item.number);
    message.add(item.arrival->request).add(item.arrival->group_size).add(item.arrival->group_position);
    item.input.addTo(message);
    item.output.addTo(message);
    channel.flags_of[item.member].addTo(message);
    message.add(int64_t{item.is_ready_told});
    tellMembers(channel.members, message);
  }
  for (const PeerRun::Item& item : run.items) compare(*item.channel, item.number);
}

void PeerTeamTable::tellFlag(const PeerRun::Item& item, PeerFlag flag, std::span<const size_t> members) {
  const MessageWriter message =
      messageOf(PeerMessage::Told, *item.channel, item.number).add(static_cast<int64_t>(flag));
  const std::lock_guard lock(mutex_);
  for (const size_t member : members) sockets_.tell(item.channel->members[member], message.bytes());
}

// The first two that differ.
void PeerTeamTable::compare(PeerChannel& channel, int64_t number) {
  const auto& visits = channel.visits.at(number);
  for (size_t high = 1; high < visits.size(); ++high) {
    for (size_t low = 0; low < high; ++low) {
      if (!hasCome(visits[low]) || !hasCome(visits[high])) continue;
      const SocketArrival& a = *visits[low].arrival;
      const SocketArrival& b = *visits[high].arrival;
      const OperationPlace place = {.team = ranks_, .epoch = epoch_, .number = number};
      std::string text = mismatchText(place, {a.request, channel.members[low], a.group_size, a.group_position},
                                      {b.request, channel.members[high], b.group_size, b.group_position});
      if (text.empty()) continue;
      channel.mismatched = number;
      return breakLocked({CommunicationFault::Mismatch, channel.members[low], std::move(text)});
    }
  }
}

void PeerTeamTable::receiveArrived(int64_t rank, MessageReader& message) {
  PeerChannel& channel = readChannel(message);
  const int64_t number = message.number();
  const auto member = static_cast<size_t>(positionOf(channel.members, rank));
  PeerChannel::Visit& visit = visitAt(channel, number, member);
  SocketArrival arrival;
  arrival.request = message.request();
  arrival.group_size = message.number();
  arrival.group_position = message.number();
  last_[positionIn(rank)] = {arrival.request.kind, number};
  visit.arrival = std::make_shared<const SocketArrival>(std::move(arrival));
  visit.input = PeerAddress::readFrom(message);
  visit.output = PeerAddress::readFrom(message);
  channel.flags_of[member] = PeerAddress::readFrom(message);
  if (message.number() != 0) visit.is_told[static_cast<size_t>(PeerFlag::Ready)] = 1;
  compare(channel, number);
}

void PeerTeamTable::receiveTold(int64_t rank, MessageReader& message) {
  PeerChannel& channel = readChannel(message);
  const int64_t number = message.number();
  const auto visits = channel.visits.find(number);
  if (visits == channel.visits.end()) return;  // it is over here
  const auto member = static_cast<size_t>(positionOf(channel.members, rank));
  visits->second[member].is_told[static_cast<size_t>(message.number())] = 1;
}

template <class IsThere>
bool PeerTeamTable::waitUntil(std::chrono::microseconds longest, const IsThere& is_there) {
  std::unique_lock lock(mutex_);
  bool is_over = false;
  changed_.wait_for(lock, longest, [&] { return (is_over = is_there()) || breakage_; });
  return is_over;
}

bool PeerTeamTable::haveArrived(const PeerRun& run, std::chrono::microseconds longest) {
  return waitUntil(longest, [&] {
    return std::ranges::all_of(run.items, [](const PeerRun::Item& item) {
      return std::ranges::all_of(item.channel->visits.at(item.number), hasCome);
    });
  });
}

void PeerTeamTable::requireAgreement(const PeerRun& run) const {
  const std::lock_guard lock(mutex_);
  const auto isMismatched = [](const PeerRun::Item& item) { return item.channel->mismatched == item.number; };
  if (std::ranges::any_of(run.items, isMismatched)) requireWhole();
}

bool PeerTeamTable::areTold(const PeerRun& run, PeerFlag flag, std::chrono::microseconds longest) {
  const auto isTold = [&](const PeerRun::Item& item) {
    const auto& visits = item.channel->visits.at(item.number);
    const auto isToldBy = [&](size_t member) { return visits[member].is_told[static_cast<size_t>(flag)] != 0; };
    return std::ranges::all_of(item.awaited(flag), isToldBy);
  };
  return waitUntil(longest, [&] { return std::ranges::all_of(run.items, isTold); });
}

PeerChannel::Visit PeerTeamTable::visitOf(const PeerRun::Item& item, size_t member) const {
  const std::lock_guard lock(mutex_);
  return item.channel->visits.at(item.number)[member];
}

std::optional<PeerAddress> PeerTeamTable::findFlagsOf(const PeerChannel& channel, size_t member) const {
  const std::lock_guard lock(mutex_);
  const PeerAddress& flags = channel.flags_of[member];
  return flags.address == 0 ? std::nullopt : std::optional(flags);
}

void PeerTeamTable::breakBecauseOfTime(const PeerRun& run, std::optional<Missing> missing) {
  const std::lock_guard lock(mutex_);
  const auto breakBecauseOf = [&](const PeerRun::Item& item, size_t member, const auto& text_of) {
    const int64_t late = item.channel->members[member];
    const std::string name = nameOf(item);
    breakLocked({CommunicationFault::TimedOut, late, text_of(late, name)});
  };
  const auto isLate = [&](int64_t late, const std::string& name) {
    return lateText(late, name, timeout_.count(), last_[positionIn(late)]);
  };
  const auto isLateOnGpu = [&](int64_t late, const std::string& name) {
    return fmt::format("rank {} did not come to {} within {} ms; its GPU is at work before it", late, name,
                       timeout_.count());
  };
  const auto isLateAtTheEnd = [&](int64_t late, const std::string& name) {
    return lateEndText(late, name, timeout_.count());
  };
  for (const PeerRun::Item& item : run.items) {
    const auto& visits = item.channel->visits.at(item.number);
    const auto absent = std::ranges::find_if_not(visits, hasCome);
    if (absent != visits.end()) return breakBecauseOf(item, static_cast<size_t>(absent - visits.begin()), isLate);
  }
  if (missing && missing->flag == PeerFlag::Ready)
    return breakBecauseOf(run.items[missing->item], missing->member, isLateOnGpu);
  if (missing) return breakBecauseOf(run.items[missing->item], missing->member, isLateAtTheEnd);
  for (const PeerRun::Item& item : run.items)
    for (const PeerFlag flag : {PeerFlag::Ready, PeerFlag::Reduced, PeerFlag::Done})
      for (const size_t member : item.awaited(flag))
        if (item.channel->visits.at(item.number)[member].is_told[static_cast<size_t>(flag)] == 0)
          return breakBecauseOf(item, member, isLateAtTheEnd);
  breakBecauseOf(run.items[0], run.items[0].member, isLateAtTheEnd);
}

void PeerTeamTable::end(PeerRun& run) {
  const std::lock_guard lock(mutex_);
  std::erase(runs_, &run);
  for (const PeerRun::Item& item : run.items) item.channel->visits.erase(item.number);
  tellOutIfQuiet();
}

void PeerTeamTable::receiveOwn(uint8_t kind, int64_t rank, MessageReader& message) {
  switch (static_cast<PeerMessage>(kind)) {
    case PeerMessage::Arrived: receiveArrived(rank, message); break;
    case PeerMessage::Told: receiveTold(rank, message); break;
    case PeerMessage::Freed: break;  // the job's
  }
}

}  // namespace tokamak
