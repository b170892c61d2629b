#include "dist/sockets/socket_job.h"

#include <algorithm>
#include <utility>

namespace tokamak {

SocketJob::SocketJob(const Bootstrap& bootstrap, std::shared_ptr<Device> device, const Options& options)
    : device_(std::move(device)),
      context_(static_cast<CudaDevice&>(*device_).context()),
      timeout_(options.timeout),
      log_(std::make_shared<OperationLog>(bootstrap.rank(), bootstrap.size(), options.operations)),
      has_left_(static_cast<size_t>(bootstrap.size())),
      is_over_(static_cast<size_t>(bootstrap.size())) {}

void SocketJob::connect(Bootstrap& bootstrap) {
  auto sockets = std::make_unique<RankSockets>(bootstrap, timeout_, *this);
  const std::lock_guard lock(mutex_);
  connection_ = std::move(sockets);
  sockets_ = connection_.get();
  made_.notify_all();
}

void SocketJob::disconnect() {
  connection_.reset();
  tables_.clear();
}

void SocketJob::waitUntilConnected(std::unique_lock<std::mutex>& lock) {
  made_.wait(lock, [this] { return sockets_ != nullptr; });
}

void SocketJob::tellAll(const MessageWriter& message) {
  for (int64_t other = 0; other < size(); ++other)
    if (other != rank()) sockets_->tell(other, message.bytes());
}

std::shared_ptr<TeamState> SocketJob::stateOf(std::span<const int64_t> ranks, int64_t epoch) {
  Tables::Tables old;  // which end without the mutex
  const std::lock_guard lock(mutex_);
  const auto isOver = [&](int64_t rank) {  // one that only begins to leave may have a work that waits for this one
    return is_over_[static_cast<size_t>(rank)] != 0 || sockets_->isDead(rank);
  };
  if (std::ranges::any_of(ranks, isOver)) sockets_->requireHere(ranks);
  const Tables::Key key = {{ranks.begin(), ranks.end()}, epoch};
  old = tables_.reach(key);
  return tableAt(key);
}

std::shared_ptr<SocketTeam> SocketJob::tableAt(const Tables::Key& key) {
  return tables_.at(key, [&] {
    std::shared_ptr<SocketTeam> table = makeTeam(key.first, key.second);
    for (const int64_t rank : key.first) {
      if (has_left_[static_cast<size_t>(rank)] != 0)
        table->noteLeft(rank, nullptr);
      else if (sockets_->isDead(rank))
        table->noteDeath(rank);
    }
    return table;
  });
}

SocketJob::Tables::Tables SocketJob::tablesOf(int64_t rank) {
  const std::lock_guard lock(mutex_);
  return tables_.of(rank);
}

void SocketJob::endLeaving() {
  const Tables::Tables tables = tablesOf(rank());
  MessageWriter message;
  message.add(static_cast<int64_t>(SocketMessage::Left)).add(std::ssize(tables));
  for (const auto& table : tables) {
    message.add(table->ranks()).add(table->epoch());
    table->addCounts(message);
  }
  tellAll(message);
  for (const auto& table : tables) table->close();
}

void SocketJob::receive(int64_t rank, std::span<const std::byte> message) {
  MessageReader reader(message);
  const auto kind = static_cast<uint8_t>(reader.number());
  std::unique_lock lock(mutex_);
  waitUntilConnected(lock);
  if (kind == static_cast<uint8_t>(SocketMessage::Left)) {
    lock.unlock();
    return noteLeft(rank, reader);
  }
  if (receiveOwn(kind, rank, reader)) return;
  std::vector<int64_t> ranks = reader.numbers();
  const std::shared_ptr<SocketTeam> table = tableAt({std::move(ranks), reader.number()});
  if (kind == static_cast<uint8_t>(SocketMessage::Broken)) noteGone(MessageReader(reader).breakage());
  lock.unlock();
  if (table != nullptr) table->receive(kind, rank, reader);
}

// Who tells may know it sooner.
void SocketJob::noteGone(const Breakage& breakage) {
  const bool has_left = breakage.fault == CommunicationFault::Left;
  if ((!has_left && breakage.fault != CommunicationFault::Died) || breakage.rank == rank()) return;
  sockets_->noteGone(breakage.fault, breakage.rank);
  is_over_[static_cast<size_t>(breakage.rank)] = 1;
}

void SocketJob::noteLeft(int64_t rank, MessageReader& message) {
  {
    const std::lock_guard lock(mutex_);
    has_left_[static_cast<size_t>(rank)] = is_over_[static_cast<size_t>(rank)] = 1;
  }
  const int64_t count = message.number();
  Tables::Tables known = tablesOf(rank);
  for (int64_t i = 0; i < count; ++i) {
    const std::vector<int64_t> ranks = message.numbers();
    const int64_t epoch = message.number();
    const auto isThis = [&](const auto& table) {
      return table->epoch() == epoch && std::ranges::equal(table->ranks(), ranks);
    };
    const auto found = std::ranges::find_if(known, isThis);
    if (found == known.end()) {
      message.numbers();
      continue;
    }
    (*found)->noteLeft(rank, &message);
    known.erase(found);
  }
  for (const auto& table : known) table->noteLeft(rank, nullptr);
}

void SocketJob::noteDeath(int64_t rank) {
  {
    std::unique_lock lock(mutex_);
    waitUntilConnected(lock);
    if (has_left_[static_cast<size_t>(rank)] != 0) return;
  }
  for (const auto& table : tablesOf(rank)) table->noteDeath(rank);
}

}  // namespace tokamak
