#include "dist/mpi/mpi_job.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "dist/mpi/mpi_communicator.h"
#include "dist/mpi/mpi_work.h"

namespace tokamak {

namespace {

constexpr size_t kBytesPerMessage = size_t{1} << 26U;

}  // namespace

MpiJob::MpiJob(std::shared_ptr<MpiWorld> world, std::shared_ptr<Device> device, int64_t ranks,
               const MpiOptions& options)
    : world_(std::move(world)),
      device_(std::move(device)),
      log_(std::make_shared<OperationLog>(world_->rank(), ranks, options.operations)),
      timeout_(options.timeout),
      gone_(ranks),
      is_silent_(static_cast<size_t>(ranks)) {
  const std::lock_guard lock(world_->mutex());
  key_ = world_->nextJob(ranks);
  world_->join(key_, *this);
}

MpiJob::~MpiJob() { world_->part(key_); }

MpiJob::Exchange& MpiJob::exchangeAt(Exchanges& of, int64_t number, size_t ranks) {
  Exchange& exchange = of.open[number];
  exchange.given.resize(ranks);
  exchange.parts.resize(ranks);
  return exchange;
}

// In parts, so that MPI can count their bytes.
void MpiJob::give(const ExchangesKey& key, int64_t number, std::span<const std::byte> bytes) {
  for (const int64_t rank : key.second) {
    if (rank == this->rank()) continue;
    size_t done = 0;
    do {
      const size_t part = std::min(kBytesPerMessage, bytes.size() - done);
      MpiMessageWriter message(MpiMessageKind::Exchange, key_);
      message.add(std::string_view(key.first));
      message.add(std::span<const int64_t>(key.second));
      message.add(number);
      message.add(static_cast<int64_t>(done + part == bytes.size() ? 1 : 0));
      message.add(bytes.subspan(done, part));
      world_->tell(rank, message.take());
      done += part;
    } while (done < bytes.size());
  }
}

void MpiJob::endExchange(const ExchangesKey& key, int64_t number, Exchange& exchange, Breakage breakage) {
  world_->noteLate(breakage.rank);
  exchange.breakage = std::move(breakage);
  for (const int64_t rank : key.second) {
    if (rank == this->rank()) continue;
    MpiMessageWriter message(MpiMessageKind::ExchangeBroken, key_);
    message.add(std::string_view(key.first));
    message.add(std::span<const int64_t>(key.second));
    message.add(number);
    message.add(*exchange.breakage);
    world_->tell(rank, message.take());
  }
}

std::vector<std::vector<std::byte>> MpiJob::exchange(std::string_view tag, std::span<const int64_t> ranks,
                                                     std::span<const std::byte> bytes) {
  const ExchangesKey key = {std::string(tag), {ranks.begin(), ranks.end()}};
  const auto deadline = MpiWorld::Clock::now() + timeout_;
  std::unique_lock lock(world_->mutex());
  Exchanges& all = exchanges_[key];
  const int64_t number = all.next++;
  Exchange& here = exchangeAt(all, number, ranks.size());
  here.given[static_cast<size_t>(positionOf(ranks, rank()))].emplace(bytes.begin(), bytes.end());
  give(key, number, bytes);
  const auto findMissing = [&] { return std::ranges::find_if(here.given, [](const auto& it) { return !it; }); };
  const auto isOver = [&] {
    if (here.breakage || findMissing() == here.given.end()) return true;
    // What somebody gave before he went is there already.
    here.breakage = gone_.why(ranks, ranks);
    return here.breakage.has_value();
  };
  if (!world_->waitUntil(lock, deadline, MpiWait::Message, isOver)) {
    const int64_t late = ranks[static_cast<size_t>(findMissing() - here.given.begin())];
    endExchange(key, number, here,
                {CommunicationFault::TimedOut, late,
                 fmt::format("exchange \"{}\" of ranks ({}): rank {} did not come within {} ms{}", tag,
                             joined(ranks, " "), late, timeout_.count(), world_->stateText(late))});
  }
  const Exchange over = std::move(here);
  all.open.erase(number);
  if (over.breakage) raiseOf(*over.breakage);
  std::vector<std::vector<std::byte>> theirs;
  for (const auto& given : over.given) theirs.push_back(*given);
  return theirs;
}

std::vector<int64_t> MpiJob::alive(std::span<const int64_t> ranks) const {
  const std::lock_guard lock(world_->mutex());
  std::vector<int64_t> alive;
  for (const int64_t rank : ranks)
    if (!gone_.isGone(rank)) alive.push_back(rank);
  return alive;
}

std::shared_ptr<TeamState> MpiJob::stateOf(std::span<const int64_t> ranks, int64_t epoch) {
  const std::lock_guard lock(world_->mutex());
  if (std::ranges::any_of(ranks, [&](int64_t rank) { return is_silent_[static_cast<size_t>(rank)] != 0; }))
    raiseOf(*gone_.why(ranks, ranks));
  const EpochTables<MpiTeamTable>::Key key = {{ranks.begin(), ranks.end()}, epoch};
  tables_.reach(key);
  return tableAt(key);
}

std::shared_ptr<MpiTeamTable> MpiJob::tableAt(const EpochTables<MpiTeamTable>::Key& key) {
  return tables_.at(key, [&] {
    auto table = std::make_shared<MpiTeamTable>(*world_, key_, key.first, key.second, timeout_);
    for (const int64_t rank : key.first)
      if (is_silent_[static_cast<size_t>(rank)] != 0) table->noteLeft(rank);
    return table;
  });
}

std::shared_ptr<const Work> MpiJob::workOf(const std::shared_ptr<TeamState>& team,
                                           std::span<const CommunicationRequest> group) {
  return std::make_shared<MpiWork>(shared_from_this(), std::static_pointer_cast<MpiTeamTable>(team), group);
}

void MpiJob::tellAll(const MpiMessageWriter& message) {
  for (int64_t rank = 0; rank < size(); ++rank)
    if (rank != this->rank()) world_->tell(rank, {message.bytes().begin(), message.bytes().end()});
}

void MpiJob::beginLeaving() {
  const std::lock_guard lock(world_->mutex());
  const std::vector<int64_t> dead(world_->dead().begin(), world_->dead().end());
  MpiMessageWriter message(MpiMessageKind::Leaving, key_);
  message.add(std::span<const int64_t>(dead));
  tellAll(message);
}

void MpiJob::endLeaving() {
  const std::lock_guard lock(world_->mutex());
  tellAll(MpiMessageWriter(MpiMessageKind::Left, key_));
}

void MpiJob::receive(int64_t rank, MpiMessageReader& message) {
  if (message.kind() != MpiMessageKind::Broken && message.kind() != MpiMessageKind::ExchangeBroken)
    world_->noteCame(rank);
  switch (message.kind()) {
    case MpiMessageKind::Arrival: return receiveArrivals(rank, message);
    case MpiMessageKind::Broken: {
      const std::vector<int64_t> ranks = message.numbers();
      const int64_t epoch = message.number();
      if (const auto table = tableAt({ranks, epoch})) table->noteOut(rank, message.breakage());
      return;
    }
    case MpiMessageKind::Exchange:
    case MpiMessageKind::ExchangeBroken: return receiveExchange(rank, message);
    case MpiMessageKind::Leaving: return noteLeaving(rank, message.numbers());
    case MpiMessageKind::Left: return noteLeft(rank);
  }
}

void MpiJob::receiveArrivals(int64_t rank, MpiMessageReader& message) {
  const std::vector<int64_t> ranks = message.numbers();
  const std::shared_ptr<MpiTeamTable> known = tableAt({ranks, message.number()});
  if (known == nullptr) return;
  MpiTeamTable& table = *known;
  const int64_t count = message.number();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t from = message.number();
    const int64_t to = message.number();
    const int64_t number = message.number();
    MpiArrival arrival;
    arrival.group_size = message.number();
    arrival.group_position = message.number();
    arrival.tag = message.number();
    arrival.request = message.request();
    MpiChannel& channel = from < 0 ? table.collectives() : table.transfers(from, to);
    table.noteArrival(channel, number, static_cast<size_t>(positionOf(channel.members, rank)), std::move(arrival));
  }
}

void MpiJob::receiveExchange(int64_t rank, MpiMessageReader& message) {
  ExchangesKey key = {message.text(), {}};
  key.second = message.numbers();
  const int64_t number = message.number();
  Exchanges& all = exchanges_[key];
  if (number < all.next && !all.open.contains(number)) return;  // it is over here
  Exchange& exchange = exchangeAt(all, number, key.second.size());
  if (message.kind() == MpiMessageKind::ExchangeBroken) {
    if (!exchange.breakage) exchange.breakage = message.breakage();
    if (exchange.breakage->fault == CommunicationFault::TimedOut) world_->noteLate(exchange.breakage->rank);
    return;
  }
  const bool is_last = message.number() != 0;
  const auto position = static_cast<size_t>(positionOf(key.second, rank));
  const std::vector<std::byte> bytes = message.bytes();
  std::vector<std::byte>& parts = exchange.parts[position];
  parts.insert(parts.end(), bytes.begin(), bytes.end());
  if (is_last) exchange.given[position] = std::move(parts);
}

void MpiJob::noteLeaving(int64_t rank, std::span<const int64_t> dead) {
  for (const int64_t one : dead) world_->hearOfDeath(one);
  gone_.noteLeft(rank, dead);
}

void MpiJob::noteLeft(int64_t rank) {
  is_silent_[static_cast<size_t>(rank)] = 1;
  for (const auto& table : tables_.of(rank)) table->noteLeft(rank);
}

// One that has left is not needed any more.
void MpiJob::noteDeath(int64_t rank) {
  if (rank >= size() || is_silent_[static_cast<size_t>(rank)] != 0) return;
  is_silent_[static_cast<size_t>(rank)] = 1;
  std::string text;
  for (const auto& table : tables_.of(rank)) {
    if (table->isBroken()) continue;
    table->noteDeath(rank);
    if (text.empty()) text = table->breakage().text;
  }
  gone_.noteDeath(rank, std::move(text));
}

}  // namespace tokamak
