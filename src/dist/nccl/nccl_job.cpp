#include "dist/nccl/nccl_job.h"

#include <algorithm>

#include "dist/nccl/nccl_communicator.h"

namespace tokamak {

NcclJob::NcclJob(Bootstrap& bootstrap, const NcclLibrary& library, std::shared_ptr<Device> device,
                 const NcclOptions& options)
    : library_(library),
      device_(std::move(device)),
      context_(static_cast<CudaDevice&>(*device_).context()),
      timeout_(options.timeout),
      log_(std::make_shared<OperationLog>(bootstrap.rank(), bootstrap.size(), options.operations)),
      kernels_(context_, device_->properties().architecture, options.reduction_kernels),
      has_left_(static_cast<size_t>(bootstrap.size())),
      is_over_(static_cast<size_t>(bootstrap.size())) {
  auto sockets = std::make_unique<RankSockets>(bootstrap, options.timeout, *this);
  const std::lock_guard lock(mutex_);
  sockets_ = std::move(sockets);
  made_.notify_all();
}

std::shared_ptr<NcclTeamTable> NcclJob::table(std::span<const int64_t> ranks, int64_t epoch) {
  std::vector<std::shared_ptr<NcclTeamTable>> old;  // whose communicators end without the mutex
  const std::lock_guard lock(mutex_);
  const auto isOver = [&](int64_t rank) {  // one that only begins to leave may have a work that waits for this one
    return is_over_[static_cast<size_t>(rank)] != 0 || sockets_->isDead(rank);
  };
  if (std::ranges::any_of(ranks, isOver)) sockets_->requireHere(ranks);
  const Key key = {{ranks.begin(), ranks.end()}, epoch};
  old = takeOld(key);
  return tableAt(key);
}

// What works or teams still hold is let go of at the next breakage.
std::vector<std::shared_ptr<NcclTeamTable>> NcclJob::takeOld(const Key& key) {
  reached_[key.first] = key.second;
  std::vector<std::shared_ptr<NcclTeamTable>> old;
  std::erase_if(tables_, [&](auto& entry) {
    const bool is_old =
        entry.first.first == key.first && entry.first.second < key.second && entry.second.use_count() == 1;
    if (is_old) old.push_back(std::move(entry.second));
    return is_old;
  });
  return old;
}

std::shared_ptr<NcclTeamTable> NcclJob::tableAt(const Key& key) {
  const auto found = tables_.find(key);
  if (found != tables_.end()) return found->second;
  const auto reached = reached_.find(key.first);
  if (reached != reached_.end() && key.second < reached->second) return nullptr;
  std::shared_ptr<NcclTeamTable>& table = tables_[key];
  table = std::make_shared<NcclTeamTable>(*sockets_, key.first, key.second, timeout_);
  for (const int64_t rank : key.first) {
    if (has_left_[static_cast<size_t>(rank)] != 0)
      table->noteLeft(rank, nullptr);
    else if (sockets_->isDead(rank))
      table->noteDeath(rank);
  }
  return table;
}

std::vector<std::shared_ptr<NcclTeamTable>> NcclJob::tablesOf(int64_t rank) {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<NcclTeamTable>> tables;
  for (const auto& [key, table] : tables_)
    if (positionOf(key.first, rank) >= 0) tables.push_back(table);
  return tables;
}

void NcclJob::leave() {
  const std::vector<std::shared_ptr<NcclTeamTable>> tables = tablesOf(sockets_->rank());
  MessageWriter message;
  message.add(static_cast<int64_t>(NcclMessage::Left)).add(std::ssize(tables));
  for (const auto& table : tables) {
    message.add(table->ranks()).add(table->epoch());
    table->addCounts(message);
  }
  for (int64_t rank = 0; rank < sockets_->size(); ++rank)
    if (rank != sockets_->rank()) sockets_->tell(rank, message.bytes());
  for (const auto& table : tables) table->close();
}

void NcclJob::receive(int64_t rank, std::span<const std::byte> message) {
  MessageReader reader(message);
  const auto kind = static_cast<NcclMessage>(reader.number());
  std::unique_lock lock(mutex_);
  made_.wait(lock, [this] { return sockets_ != nullptr; });
  if (kind == NcclMessage::Left) {
    lock.unlock();
    return noteLeft(rank, reader);
  }
  std::vector<int64_t> ranks = reader.numbers();
  const std::shared_ptr<NcclTeamTable> table = tableAt({std::move(ranks), reader.number()});
  if (kind == NcclMessage::Broken) noteGone(MessageReader(reader).breakage());
  lock.unlock();
  if (table != nullptr) table->receive(kind, rank, reader);
}

// Who tells may know it sooner.
void NcclJob::noteGone(const Breakage& breakage) {
  const bool has_left = breakage.fault == CommunicationFault::Left;
  if ((!has_left && breakage.fault != CommunicationFault::Died) || breakage.rank == sockets_->rank()) return;
  sockets_->noteGone(breakage.fault, breakage.rank);
  is_over_[static_cast<size_t>(breakage.rank)] = 1;
}

void NcclJob::noteLeft(int64_t rank, MessageReader& message) {
  {
    const std::lock_guard lock(mutex_);
    has_left_[static_cast<size_t>(rank)] = is_over_[static_cast<size_t>(rank)] = 1;
  }
  const int64_t count = message.number();
  std::vector<std::shared_ptr<NcclTeamTable>> known = tablesOf(rank);
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

void NcclJob::noteDeath(int64_t rank) {
  {
    std::unique_lock lock(mutex_);
    made_.wait(lock, [this] { return sockets_ != nullptr; });
    if (has_left_[static_cast<size_t>(rank)] != 0) return;
  }
  for (const auto& table : tablesOf(rank)) table->noteDeath(rank);
}

}  // namespace tokamak
