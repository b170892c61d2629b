#include "dist/peer_copy/peer_job.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <numeric>

#include <fmt/format.h>
#include <unistd.h>

#include "base/library_version.h"
#include "base/require.h"
#include "dist/peer_copy/peer_communicator.h"

namespace tokamak {

namespace {

std::string hostName() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id;
}

// Numbers of processes count within their namespace.
std::string processName() {
  std::array<char, 64> names = {};
  const ssize_t length = readlink("/proc/self/ns/pid", names.data(), names.size());
  return fmt::format("{} {}", getpid(), std::string(names.data(), length > 0 ? static_cast<size_t>(length) : 0));
}

}  // namespace

void requireOneJob(std::span<const PeerCard> cards) {
  for (size_t rank = 1; rank < cards.size(); ++rank) {
    if (cards[rank].version != cards[0].version)
      raiseOf({CommunicationFault::Mismatch, static_cast<int64_t>(rank),
               fmt::format("rank 0 has version {} of Tokamak, and rank {} has {}; all ranks have to have the same",
                           cards[0].version, rank, cards[rank].version)});
    TK_REQUIRE(cards[rank].host == cards[0].host, Unsupported,
               "peer-copy communicator: ranks 0 and {} are on two hosts; it is between GPUs of one", rank);
  }
}

PeerJob::PeerJob(Bootstrap& bootstrap, std::shared_ptr<Device> device, const PeerOptions& options)
    : device_(std::move(device)),
      context_(static_cast<CudaDevice&>(*device_).context()),
      timeout_(options.timeout),
      log_(std::make_shared<OperationLog>(bootstrap.rank(), bootstrap.size(), options.operations)),
      flags_(context_),
      reductions_(context_, device_->properties().architecture, options.reduction_kernels),
      has_left_(static_cast<size_t>(bootstrap.size())),
      is_over_(static_cast<size_t>(bootstrap.size())) {
  auto sockets = std::make_unique<RankSockets>(bootstrap, options.timeout, *this);
  {
    const std::lock_guard lock(mutex_);
    sockets_ = std::move(sockets);
    made_.notify_all();
  }
  meet();
}

// Errors are found by all ranks, or told to all: none is left waiting.
void PeerJob::meet() {
  std::vector<int64_t> ranks(static_cast<size_t>(sockets_->size()));
  std::iota(ranks.begin(), ranks.end(), int64_t{0});
  try {
    const std::vector<PeerCard> cards = exchangeCards(ranks);
    requireOneJob(cards);
    std::vector<uint8_t> is_here;
    const PeerCard& own = cards[static_cast<size_t>(sockets_->rank())];
    for (const PeerCard& card : cards) is_here.push_back(card.process == own.process ? 1 : 0);
    {
      const std::lock_guard lock(mutex_);  // others may be through with this, and tell of teams
      memory_ = std::make_unique<PeerMemory>(context_, is_here);
    }
    agree(ranks, findUnreachable(cards));
    agree(ranks, findUnopened(ranks));
  } catch (...) {
    sockets_->leave();
    throw;
  }
}

std::vector<PeerCard> PeerJob::exchangeCards(std::span<const int64_t> ranks) {
  MessageWriter own;
  own.add(std::string_view(libraryVersion())).add(std::string_view(hostName()));
  own.add(std::string_view(processName())).add(std::string_view(context_->name()));
  own.add(device_->properties().ordinal);
  std::vector<PeerCard> cards;
  for (const std::vector<std::byte>& bytes : sockets_->exchange("peer cards", ranks, own.bytes())) {
    MessageReader reader(bytes);
    PeerCard card;
    for (std::string* const text : {&card.version, &card.host, &card.process, &card.device}) *text = reader.text();
    card.ordinal = reader.number();
    cards.push_back(std::move(card));
  }
  return cards;
}

// GPUs of one process: which this rank's one cannot reach. The others are asked when their memory is opened.
std::string PeerJob::findUnreachable(std::span<const PeerCard> cards) const {
  const CurrentContext current(*context_);
  const DriverLibrary& driver = context_->driver();
  const PeerCard& own = cards[static_cast<size_t>(sockets_->rank())];
  for (size_t rank = 0; rank < cards.size(); ++rank) {
    if (cards[rank].process != own.process || cards[rank].ordinal == own.ordinal) continue;
    const auto describe = [&](const std::string& reason) {
      return fmt::format("{} of rank {} cannot reach the memory of {} of rank {}{}", own.device, sockets_->rank(),
                         cards[rank].device, rank, reason);
    };
    driver::Device device = 0;
    driver::Context context = nullptr;
    int is_possible = 0;
    driver::Result status = driver.device_get(&device, static_cast<int>(cards[rank].ordinal));
    if (status == driver::kSuccess) status = driver.peer_possible(&is_possible, context_->device(), device);
    if (status == driver::kSuccess && is_possible == 0) return describe("");
    if (status == driver::kSuccess) status = driver.primary_retain(&context, device);
    if (context != nullptr) {
      status = driver.peer_enable(context, 0);
      driver.primary_release(device);
    }
    if (status != driver::kSuccess && status != driver::kPeerAccessAlreadyEnabled)
      return describe(fmt::format(": the driver reports {}", driver.describe(status)));
  }
  return {};
}

// Opens some memory of each rank, so that what is impossible is known before anything runs.
std::string PeerJob::findUnopened(std::span<const int64_t> ranks) {
  std::string fault;
  MessageWriter own;
  try {
    memory_->share(flags_.take(1)).addTo(own);
  } catch (const Error& error) {
    fault = fmt::format("rank {}: {}", sockets_->rank(), error.message());
  }
  const auto theirs = sockets_->exchange("peer memory", ranks, own.bytes());
  for (const int64_t rank : ranks) {
    MessageReader reader(theirs[static_cast<size_t>(rank)]);
    try {
      memory_->reach(rank, PeerAddress::readFrom(reader));
    } catch (const Error& error) {
      if (fault.empty()) fault = fmt::format("rank {}: {}", sockets_->rank(), error.message());
    }
  }
  return fault;
}

void PeerJob::agree(std::span<const int64_t> ranks, const std::string& fault) {
  for (const std::vector<std::byte>& bytes :
       sockets_->exchange("peer faults", ranks, std::as_bytes(std::span(fault)))) {
    const std::string_view said(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    TK_REQUIRE(said.empty(), Unsupported, "peer-copy communicator: {}", said);
  }
}

PeerAddress PeerJob::share(const void* address) {
  const PeerAddress shared = memory_->share(address);
  const std::vector<int64_t> freed = memory_->takeFreed();
  if (freed.empty()) return shared;
  MessageWriter message;
  message.add(static_cast<int64_t>(PeerMessage::Freed)).add(std::span(freed));
  for (int64_t rank = 0; rank < sockets_->size(); ++rank)
    if (rank != sockets_->rank()) sockets_->tell(rank, message.bytes());
  return shared;
}

void PeerJob::closeFreed(int64_t rank, MessageReader& message) {
  for (const int64_t allocation : message.numbers()) memory_->close(rank, allocation);
}

std::shared_ptr<PeerTeamTable> PeerJob::table(std::span<const int64_t> ranks, int64_t epoch) {
  std::vector<std::shared_ptr<PeerTeamTable>> old;  // which end without the mutex
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
std::vector<std::shared_ptr<PeerTeamTable>> PeerJob::takeOld(const Key& key) {
  reached_[key.first] = key.second;
  std::vector<std::shared_ptr<PeerTeamTable>> old;
  std::erase_if(tables_, [&](auto& entry) {
    const bool is_old =
        entry.first.first == key.first && entry.first.second < key.second && entry.second.use_count() == 1;
    if (is_old) old.push_back(std::move(entry.second));
    return is_old;
  });
  return old;
}

std::shared_ptr<PeerTeamTable> PeerJob::tableAt(const Key& key) {
  const auto found = tables_.find(key);
  if (found != tables_.end()) return found->second;
  const auto reached = reached_.find(key.first);
  if (reached != reached_.end() && key.second < reached->second) return nullptr;
  std::shared_ptr<PeerTeamTable>& table = tables_[key];
  table = std::make_shared<PeerTeamTable>(*sockets_, *memory_, flags_, key.first, key.second, timeout_);
  for (const int64_t rank : key.first) {
    if (has_left_[static_cast<size_t>(rank)] != 0)
      table->noteLeft(rank, nullptr);
    else if (sockets_->isDead(rank))
      table->noteDeath(rank);
  }
  return table;
}

std::vector<std::shared_ptr<PeerTeamTable>> PeerJob::tablesOf(int64_t rank) {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<PeerTeamTable>> tables;
  for (const auto& [key, table] : tables_)
    if (positionOf(key.first, rank) >= 0) tables.push_back(table);
  return tables;
}

void PeerJob::leave() {
  const std::vector<std::shared_ptr<PeerTeamTable>> tables = tablesOf(sockets_->rank());
  MessageWriter message;
  message.add(static_cast<int64_t>(PeerMessage::Left)).add(std::ssize(tables));
  for (const auto& table : tables) {
    message.add(table->ranks()).add(table->epoch());
    table->addCounts(message);
  }
  for (int64_t rank = 0; rank < sockets_->size(); ++rank)
    if (rank != sockets_->rank()) sockets_->tell(rank, message.bytes());
  for (const auto& table : tables) table->close();
}

void PeerJob::receive(int64_t rank, std::span<const std::byte> message) {
  MessageReader reader(message);
  const auto kind = static_cast<PeerMessage>(reader.number());
  std::unique_lock lock(mutex_);
  made_.wait(lock, [this] { return sockets_ != nullptr; });
  if (kind == PeerMessage::Left) {
    lock.unlock();
    return noteLeft(rank, reader);
  }
  if (kind == PeerMessage::Freed) return closeFreed(rank, reader);
  std::vector<int64_t> ranks = reader.numbers();
  const std::shared_ptr<PeerTeamTable> table = tableAt({std::move(ranks), reader.number()});
  if (kind == PeerMessage::Broken) noteGone(MessageReader(reader).breakage());
  lock.unlock();
  if (table != nullptr) table->receive(kind, rank, reader);
}

// Who tells may know it sooner.
void PeerJob::noteGone(const Breakage& breakage) {
  const bool has_left = breakage.fault == CommunicationFault::Left;
  if ((!has_left && breakage.fault != CommunicationFault::Died) || breakage.rank == sockets_->rank()) return;
  sockets_->noteGone(breakage.fault, breakage.rank);
  is_over_[static_cast<size_t>(breakage.rank)] = 1;
}

void PeerJob::noteLeft(int64_t rank, MessageReader& message) {
  {
    const std::lock_guard lock(mutex_);
    has_left_[static_cast<size_t>(rank)] = is_over_[static_cast<size_t>(rank)] = 1;
  }
  const int64_t count = message.number();
  std::vector<std::shared_ptr<PeerTeamTable>> known = tablesOf(rank);
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

void PeerJob::noteDeath(int64_t rank) {
  {
    std::unique_lock lock(mutex_);
    made_.wait(lock, [this] { return sockets_ != nullptr; });
    if (has_left_[static_cast<size_t>(rank)] != 0) return;
  }
  for (const auto& table : tablesOf(rank)) table->noteDeath(rank);
}

}  // namespace tokamak
