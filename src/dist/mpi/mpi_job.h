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
#include "dist/mpi/mpi_team_table.h"
#include "dist/mpi/mpi_world.h"
#include "dist/operation_log.h"

namespace tokamak {

struct MpiOptions;

/// Its ranks are the first ones of the world, by the same numbers.
/// Thread safety: any threads may use it side by side; none of them holds the world's mutex.
class MpiJob final : public MpiWorld::Listener {
 public:
  MpiJob(std::shared_ptr<MpiWorld> world, int64_t ranks, const MpiOptions& options);
  MpiJob(const MpiJob&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;
  ~MpiJob();

  MpiWorld& world() const { return *world_; }
  const MpiJobKey& key() const { return key_; }
  const std::shared_ptr<OperationLog>& log() const { return log_; }
  int64_t rank() const { return world_->rank(); }
  int64_t size() const { return static_cast<int64_t>(gone_.size()); }

  std::vector<std::vector<std::byte>> exchange(std::string_view tag, std::span<const int64_t> ranks,
                                               std::span<const std::byte> bytes);
  std::vector<int64_t> alive(std::span<const int64_t> ranks);
  /// The table of an epoch. Errors: CommunicationError when one of the ranks will not come any more.
  std::shared_ptr<MpiTeamTable> table(std::span<const int64_t> ranks, int64_t epoch);
  /// The others are told that this rank exchanges no more, and then that its works are over.
  void tellAll(MpiMessageKind kind);

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
  /// Null: of an epoch that this rank has left behind, and no work of it.
  std::shared_ptr<MpiTeamTable> tableAt(const std::vector<int64_t>& ranks, int64_t epoch);
  void letGoOfOld(const std::vector<int64_t>& ranks, int64_t epoch);
  const Breakage* whyGone(std::span<const int64_t> ranks) const;
  void receiveArrivals(int64_t rank, MpiMessageReader& message);
  void receiveExchange(int64_t rank, MpiMessageReader& message);
  void noteLeaving(int64_t rank);
  void noteLeft(int64_t rank);

  const std::shared_ptr<MpiWorld> world_;
  const std::shared_ptr<OperationLog> log_;
  const std::chrono::milliseconds timeout_;
  std::vector<std::optional<Breakage>> gone_;  // per rank: why it is
  std::vector<uint8_t> is_silent_;             // per rank: its works are over
  std::map<ExchangesKey, Exchanges> exchanges_;
  std::map<std::pair<std::vector<int64_t>, int64_t>, std::shared_ptr<MpiTeamTable>> tables_;
  std::map<std::vector<int64_t>, int64_t> reached_;  // the epoch that this rank is in
  MpiJobKey key_;
};

}  // namespace tokamak
