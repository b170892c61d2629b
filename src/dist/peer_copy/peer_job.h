// PeerJob: one rank's end of a job over peer copies: its device, what it reaches of others', its teams.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dist/operation_log.h"
#include "dist/peer_copy/peer_memory.h"
#include "dist/peer_copy/peer_reduction.h"
#include "dist/peer_copy/peer_team_table.h"
#include "dist/sockets/rank_sockets.h"
#include "runtime/cuda/cuda_device.h"

namespace tokamak {

struct PeerOptions;

/// What the ranks have to know of each other before they reach memory.
struct PeerCard {
  std::string version = {};  ///< of the library
  std::string host = {};     ///< the running system
  std::string process = {};  ///< there
  std::string device = {};   ///< "cuda:0", in that process
  int64_t ordinal = 0;       ///< the same as a number
};
/// By rank. Errors: CommunicationError (Mismatch) for another version than rank 0's; Unsupported for another host.
void requireOneJob(std::span<const PeerCard> cards);

/// Thread safety: any threads may use it side by side.
class PeerJob final : public RankSockets::Listener {
 public:
  /// Errors: as peerCommunicator().
  PeerJob(Bootstrap& bootstrap, std::shared_ptr<Device> device, const PeerOptions& options);

  RankSockets& sockets() { return *sockets_; }
  const std::shared_ptr<Device>& device() const { return device_; }
  const std::shared_ptr<DriverContext>& context() const { return context_; }
  PeerMemory& memory() { return *memory_; }
  PeerFlags& flags() { return flags_; }
  PeerReductions& reductions() { return reductions_; }
  const std::shared_ptr<OperationLog>& log() const { return log_; }

  /// As PeerMemory::share(); tells the others of what is gone.
  PeerAddress share(const void* address);
  /// Of the team in this epoch. Errors: CommunicationError where one of the ranks will not come any more.
  std::shared_ptr<PeerTeamTable> table(std::span<const int64_t> ranks, int64_t epoch);
  /// The others learn how far this rank came, and read its memory no more.
  void leave();

  void receive(int64_t rank, std::span<const std::byte> message) override;
  void noteDeath(int64_t rank) override;

 private:
  using Key = std::pair<std::vector<int64_t>, int64_t>;

  void meet();
  std::vector<PeerCard> exchangeCards(std::span<const int64_t> ranks);
  std::string findUnreachable(std::span<const PeerCard> cards) const;
  std::string findUnopened(std::span<const int64_t> ranks);
  void agree(std::span<const int64_t> ranks, const std::string& fault);

  /// Null: of an epoch that this rank has left behind, and no work of it.
  std::shared_ptr<PeerTeamTable> tableAt(const Key& key);
  std::vector<std::shared_ptr<PeerTeamTable>> takeOld(const Key& key);
  std::vector<std::shared_ptr<PeerTeamTable>> tablesOf(int64_t rank);
  void closeFreed(int64_t rank, MessageReader& message);
  void noteGone(const Breakage& breakage);
  void noteLeft(int64_t rank, MessageReader& message);

  const std::shared_ptr<Device> device_;
  const std::shared_ptr<DriverContext> context_;
  const std::chrono::milliseconds timeout_;
  const std::shared_ptr<OperationLog> log_;
  PeerFlags flags_;
  PeerReductions reductions_;
  std::unique_ptr<PeerMemory> memory_;
  std::mutex mutex_;
  std::condition_variable made_;
  std::map<Key, std::shared_ptr<PeerTeamTable>> tables_;
  std::map<std::vector<int64_t>, int64_t> reached_;  // the epoch that this rank is in
  std::vector<uint8_t> has_left_;                    // per rank: it said so
  std::vector<uint8_t> is_over_;          // per rank: it comes to nothing any more, as it or another one said
  std::unique_ptr<RankSockets> sockets_;  // its thread calls this: gone first, ready last
};

}  // namespace tokamak
