#include "dist/peer_copy/peer_job.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/library_version.h"
#include "base/require.h"
#include "dist/peer_copy/peer_communicator.h"
#include "dist/peer_copy/peer_work.h"

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
    : SocketJob(bootstrap, std::move(device), {.timeout = options.timeout, .operations = options.operations}),
      flags_(context_),
      reductions_(context_, device_->properties().architecture, options.reduction_kernels) {
  connect(bootstrap);
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
    disconnect();
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
  tellAll(message);
  return shared;
}

bool PeerJob::receiveOwn(uint8_t kind, int64_t rank, MessageReader& message) {
  if (kind != static_cast<uint8_t>(PeerMessage::Freed)) return false;
  for (const int64_t allocation : message.numbers()) memory_->close(rank, allocation);
  return true;
}

std::shared_ptr<SocketTeam> PeerJob::makeTeam(std::vector<int64_t> ranks, int64_t epoch) {
  return std::make_shared<PeerTeamTable>(*sockets_, *memory_, flags_, std::move(ranks), epoch, timeout_);
}

std::shared_ptr<const Work> PeerJob::workOf(const std::shared_ptr<TeamState>& team,
                                            std::span<const CommunicationRequest> group) {
  return std::make_shared<PeerWork>(shared_from_this(), std::static_pointer_cast<PeerTeamTable>(team), group);
}

}  // namespace tokamak
