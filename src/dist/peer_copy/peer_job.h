// PeerJob: one rank's end of a job over peer copies: what it reaches of others' memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dist/peer_copy/peer_memory.h"
#include "dist/peer_copy/peer_reduction.h"
#include "dist/peer_copy/peer_team_table.h"
#include "dist/sockets/socket_job.h"

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
class PeerJob final : public SocketJob, public std::enable_shared_from_this<PeerJob> {
 public:
  /// Errors: as peerCommunicator().
  PeerJob(Bootstrap& bootstrap, std::shared_ptr<Device> device, const PeerOptions& options);
  PeerJob(const PeerJob&) = delete;
  PeerJob& operator=(const PeerJob&) = delete;
  ~PeerJob() override { disconnect(); }

  PeerMemory& memory() { return *memory_; }
  PeerFlags& flags() { return flags_; }
  PeerReductions& reductions() { return reductions_; }
  /// As PeerMemory::share(); tells the others of what is gone.
  PeerAddress share(const void* address);
  CommunicatorBackend backend() const override { return CommunicatorBackend::CUDA; }
  /// As stateOf().
  std::shared_ptr<PeerTeamTable> table(std::span<const int64_t> ranks, int64_t epoch) {
    return std::static_pointer_cast<PeerTeamTable>(stateOf(ranks, epoch));
  }
  std::shared_ptr<const Work> workOf(const std::shared_ptr<TeamState>& team,
                                     std::span<const CommunicationRequest> group) override;

 private:
  void meet();
  std::vector<PeerCard> exchangeCards(std::span<const int64_t> ranks);
  std::string findUnreachable(std::span<const PeerCard> cards) const;
  std::string findUnopened(std::span<const int64_t> ranks);
  void agree(std::span<const int64_t> ranks, const std::string& fault);

  std::shared_ptr<SocketTeam> makeTeam(std::vector<int64_t> ranks, int64_t epoch) override;
  bool receiveOwn(uint8_t kind, int64_t rank, MessageReader& message) override;

  PeerFlags flags_;
  PeerReductions reductions_;
  std::unique_ptr<PeerMemory> memory_;
};

}  // namespace tokamak
