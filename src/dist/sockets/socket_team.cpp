#include "dist/sockets/socket_team.h"

#include <fmt/format.h>

namespace tokamak {

SocketTeam::SocketTeam(RankSockets& sockets, std::vector<int64_t> ranks, int64_t epoch,
                       std::chrono::milliseconds timeout)
    : TeamState(std::move(ranks), epoch, timeout),
      sockets_(sockets),
      is_out_(ranks_.size()),
      left_(ranks_.size()),
      last_(ranks_.size()) {}

MessageWriter SocketTeam::messageOf(uint8_t kind) const {
  MessageWriter message;
  message.add(int64_t{kind}).add(ranks()).add(epoch_);
  return message;
}

void SocketTeam::tellMembers(std::span<const int64_t> members, const MessageWriter& message) {
  for (const int64_t member : members)
    if (member != rank()) sockets_.tell(member, message.bytes());
}

void SocketTeam::requireWhole() const {
  if (isBroken()) raiseOf(*breakage_);
}

void SocketTeam::breakUp(Breakage breakage) noexcept {
  const std::lock_guard lock(mutex_);
  breakLocked(std::move(breakage));
}

void SocketTeam::breakLocked(Breakage breakage) {
  if (breakage_) return;
  breakage_ = std::move(breakage);
  is_broken_.store(true, std::memory_order_release);
  tellMembers(ranks_, messageOf(SocketMessage::Broken).add(*breakage_));
  tellOutIfQuiet();
  changed_.notify_all();
}

void SocketTeam::tellOutIfQuiet() {
  if ((!breakage_ && !is_left_) || !isQuiet() || is_out_told_) return;
  is_out_told_ = true;
  is_out_[positionIn(rank())] = 1;
  tellMembers(ranks_, messageOf(SocketMessage::Out));
  changed_.notify_all();
}

void SocketTeam::waitForOthers(std::chrono::milliseconds longest) {
  const auto isOver = [&] {
    for (const int64_t member : ranks_)
      if (member != rank() && is_out_[positionIn(member)] == 0 && !sockets_.isDead(member)) return false;
    return true;
  };
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, longest, isOver);
}

void SocketTeam::receive(uint8_t kind, int64_t rank, MessageReader& message) {
  const std::lock_guard lock(mutex_);
  if (kind >= kOwnMessages) receiveOwn(kind, rank, message);
  if (kind == static_cast<uint8_t>(SocketMessage::Broken)) breakLocked(message.breakage());
  if (kind == static_cast<uint8_t>(SocketMessage::Out)) is_out_[positionIn(rank)] = 1;
  changed_.notify_all();
}

void SocketTeam::close() {
  {
    const std::lock_guard lock(mutex_);
    if (!breakage_) {
      breakage_ = {CommunicationFault::Left, rank(), fmt::format("rank {} left the job", rank())};
      is_broken_.store(true, std::memory_order_release);
    }
    is_out_[positionIn(rank())] = 1;
  }
  waitForOthers(std::chrono::milliseconds(1000));
}

}  // namespace tokamak
