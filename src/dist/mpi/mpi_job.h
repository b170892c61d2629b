// MpiJob: one communicator's end of the processes that mpirun started: its exchanges, its teams, and who is gone.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dist/communication_error.h"
#include "dist/epoch_tables.h"
#include "dist/gone_ranks.h"
#include "dist/job_end.h"
#include "dist/mpi/mpi_team_table.h"
#include "dist/mpi/mpi_world.h"
#include "dist/operation_log.h"

namespace tokamak {

struct MpiOptions;

/// Its ranks are the first ones of the world, by the same numbers.
/// Thread safety: any threads may use it side by side; none of them holds the world's mutex.
class MpiJob final : public JobEnd, public MpiWorld::Listener, public std::enable_shared_from_this<MpiJob> {
 public:
  MpiJob(std::shared_ptr<MpiWorld> world, std::shared_ptr<Device> device, int64_t ranks, const MpiOptions& options);
  MpiJob(const MpiJob&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;
  ~MpiJob() override;

  MpiWorld& world() const { return *world_; }
  const MpiJobKey& key() const { return key_; }
  const std::shared_ptr<Device>& device() const override { return device_; }
  CommunicatorBackend backend() const override { return CommunicatorBackend::MPI; }
  const std::shared_ptr<OperationLog>& log() const override { return log_; }
  int64_t rank() const override { return world_->rank(); }
  int64_t size() const override { return gone_.size(); }

  std::vector<std::vector<std::byte>> exchange(std::string_view tag, std::span<const int64_t> ranks,
                                               std::span<const std::byte> bytes) override;
  std::vector<int64_t> alive(std::span<const int64_t> ranks) const override;
  std::shared_ptr<TeamState> stateOf(std::span<const int64_t> ranks, int64_t epoch) override;
  std::shared_ptr<const Work> workOf(const std::shared_ptr<TeamState>& team,
                                     std::span<const CommunicationRequest> group) override;
  /// The others hear which processes this rank knows to be dead: a death may be why it leaves.
  void beginLeaving() override;
  void endLeaving() override;

  void receive(int64_t rank, MpiMessageReader& message) override;
  void noteDeath(int64_t rank) override;

 private:
  struct Exchange {
    std::vector<std::optional<std::vector<std::byte>>> given;
    std::vector<std::vector<std::byte>> parts;  // of those who have not given all
    std::optional<Breakage> breakage;
  };
  struct Exchanges {  // of one tag and list of ranks
    int64_t next = 0;
    std::map<int64_t, Exchange> open;
  };
  using ExchangesKey = std::pair<std::string, std::vector<int64_t>>;

  static Exchange& exchangeAt(Exchanges& of, int64_t number, size_t ranks);
  void give(const ExchangesKey& key, int64_t number, std::span<const std::byte> bytes);
  void endExchange(const ExchangesKey& key, int64_t number, Exchange& exchange, Breakage breakage);
  std::shared_ptr<MpiTeamTable> tableAt(const EpochTables<MpiTeamTable>::Key& key);
  void receiveArrivals(int64_t rank, MpiMessageReader& message);
  void receiveExchange(int64_t rank, MpiMessageReader& message);
  void tellAll(const MpiMessageWriter& message);
  void noteLeaving(int64_t rank, std::span<const int64_t> dead);
  void noteLeft(int64_t rank);

  const std::shared_ptr<MpiWorld> world_;
  const std::shared_ptr<Device> device_;
  const std::shared_ptr<OperationLog> log_;
  const std::chrono::milliseconds timeout_;
  GoneRanks gone_;
  std::vector<uint8_t> is_silent_;  // per rank: its works are over
  std::map<ExchangesKey, Exchanges> exchanges_;
  EpochTables<MpiTeamTable> tables_;
  MpiJobKey key_;
};

}  // namespace tokamak
