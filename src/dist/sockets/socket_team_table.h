// SocketTeamTable: a SocketTeam with its channels and this rank's works that run.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "dist/sockets/socket_team.h"

namespace tokamak {

/// `Channel`: an engine's SocketChannel, made of its members. `Run`: its work while it runs, with `items`, which are
/// SocketOperations, and isAwaited(): it cannot end without those who have not come.
template <class Channel, class Run>
class SocketTeamTable : public SocketTeam {
 public:
  SocketTeamTable(RankSockets& sockets, std::vector<int64_t> ranks, int64_t epoch, std::chrono::milliseconds timeout)
      : SocketTeam(sockets, std::move(ranks), epoch, timeout), collectives_(ranks_) {}

  /// They live as long as the table.
  Channel& collectives() { return collectives_; }
  Channel& transfers(int64_t from, int64_t to) {
    const std::lock_guard lock(mutex_);
    return channelAt({from, to});
  }

  /// Whether the work cannot end because of what broke the team: one that a rank came to before it left can.
  bool isConcerned(const Run& run) const {
    const std::lock_guard lock(mutex_);
    if (breakage_->fault != CommunicationFault::Left || breakage_->rank == rank()) return true;
    return std::ranges::any_of(run.items, [&](const auto& item) { return findLeft(item).has_value(); });
  }

  /// "Allreduce 7 of team (0 1 2 3)": the operation that is next on the channel, or this one.
  std::string nameOf(const Channel& channel, CommunicationKind kind, std::optional<int64_t> number = {}) const {
    if (number) return operationName(placeOf(channel, *number), kind);
    const std::lock_guard lock(mutex_);
    return operationName(placeOf(channel, channel.next), kind);
  }

  void noteDeath(int64_t rank) override {
    const std::lock_guard lock(mutex_);
    is_out_[positionIn(rank)] = 1;
    std::string text = fmt::format("rank {} died, and is of team ({})", rank, joined(ranks_, " "));
    if (!runs_.empty()) text = fmt::format("rank {} died before the end of {}", rank, nameOf(runs_[0]->items[0]));
    breakLocked({CommunicationFault::Died, rank, std::move(text)});
    changed_.notify_all();
  }

  void noteLeft(int64_t rank, MessageReader* message) override {
    const std::lock_guard lock(mutex_);
    auto& left = left_[positionIn(rank)].emplace();
    const std::vector<int64_t> counts = message == nullptr ? std::vector<int64_t>() : message->numbers();
    for (size_t i = 0; i + 2 < counts.size(); i += 3) left[{counts[i], counts[i + 1]}] = counts[i + 2];
    is_left_ = true;
    is_out_[positionIn(rank)] = 1;
    for (const Run* run : runs_)
      if (run->isAwaited()) breakIfLeft(*run);
    tellOutIfQuiet();
    changed_.notify_all();
  }

  void addCounts(MessageWriter& message) const override {
    const std::lock_guard lock(mutex_);
    std::vector<int64_t> counts = {-1, -1, collectives_.next};
    for (const auto& [ends, channel] : transfers_) counts.insert(counts.end(), {ends.first, ends.second, channel.next});
    message.add(std::span<const int64_t>(counts));
  }

 protected:
  using Item = typename decltype(Run::items)::value_type;

  // What follows is called with the mutex held, but placeOf() and nameOf().
  bool isQuiet() const override { return runs_.empty(); }

  Channel& channelAt(const Ends& ends) {
    if (ends.first < 0) return collectives_;
    return transfers_.try_emplace(ends, std::vector<int64_t>{ends.first, ends.second}).first->second;
  }
  Channel& readChannel(MessageReader& message) {
    const int64_t from = message.number();
    return channelAt({from, message.number()});
  }
  // How a channel is named in messages.
  Ends endsOf(const Channel& channel) const {
    if (&channel == &collectives_) return {-1, -1};
    return {channel.members[0], channel.members[1]};
  }
  MessageWriter messageOf(uint8_t kind, const Channel& channel) const {
    const auto [from, to] = endsOf(channel);
    MessageWriter message = SocketTeam::messageOf(kind);
    message.add(from).add(to);
    return message;
  }

  OperationPlace placeOf(const Channel& channel, int64_t number) const {
    OperationPlace place = {.team = ranks_, .epoch = epoch_, .number = number};
    if (&channel != &collectives_) place.transfer = channel.members;
    return place;
  }
  std::string nameOf(const Item& item) const {
    return operationName(placeOf(*item.channel, item.number), item.arrival->request.kind);
  }

  /// A member that did not come to the operation, and will not.
  std::optional<int64_t> findLeft(const Item& item) const {
    for (const int64_t member : item.channel->members) {
      const auto& left = left_[positionIn(member)];
      if (!left) continue;
      const auto count = left->find(endsOf(*item.channel));
      if (count == left->end() || item.number >= count->second) return member;
    }
    return {};
  }
  void breakIfLeft(const Run& run) {
    for (const Item& item : run.items)
      if (const std::optional<int64_t> member = findLeft(item))
        breakLocked(
            {CommunicationFault::Left, *member, fmt::format("rank {} left the job before {}", *member, nameOf(item))});
  }

  std::vector<Run*> runs_;
  Channel collectives_;
  std::map<Ends, Channel> transfers_;
};

}  // namespace tokamak
