// LocalJob: what the ranks of one process share: who is alive, exchanges, and the tables of teams.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dist/local/local_communicator.h"
#include "dist/local/team_table.h"

namespace tokamak {

/// Thread safety: all ranks use it side by side.
class LocalJob {
 public:
  LocalJob(int64_t size, const LocalOptions& options);

  int64_t size() const { return static_cast<int64_t>(ranks_.size()); }
  const LocalFaults& faults() const { return options_.faults; }
  const std::shared_ptr<OperationLog>& logOf(int64_t rank) const { return ranks_[static_cast<size_t>(rank)].log; }
  std::atomic<int64_t>& operationsOf(int64_t rank) { return ranks_[static_cast<size_t>(rank)].operations; }

  std::vector<std::vector<std::byte>> exchange(int64_t rank, std::string_view tag, std::span<const int64_t> ranks,
                                               std::span<const std::byte> bytes);
  std::vector<int64_t> alive(std::span<const int64_t> ranks) const;
  /// The table of an epoch that is reached, or of the next one, for this rank, which asks for no epoch before it again.
  /// Errors: CommunicationError when one of the ranks will not come any more.
  std::shared_ptr<TeamTable> table(int64_t rank, std::span<const int64_t> ranks, int64_t epoch);

  /// Breaks all teams of the rank. The first of two deaths counts.
  void noteDeath(int64_t rank, std::string_view operation);
  /// From now on nobody exchanges with the rank.
  void noteLeaving(int64_t rank);
  /// Its works are over, too: nobody forms a team with it.
  void noteLeft(int64_t rank);

 private:
  struct Rank {
    std::shared_ptr<OperationLog> log;
    std::atomic<int64_t> operations = 0;
    std::optional<Breakage> gone;  // why it is
    bool is_silent = false;        // its works are over
  };
  struct Exchange {
    std::string tag;
    std::vector<int64_t> ranks;
    std::vector<std::optional<std::vector<std::byte>>> given;
    std::optional<Breakage> breakage;
    size_t taken = 0;
  };

  // Of a team: the tables of those epochs that some rank may still ask for.
  struct Epochs {
    int64_t first = 0;
    std::deque<std::shared_ptr<TeamTable>> tables;
    std::vector<int64_t> reached;  // per rank of the team; -1: none yet
  };

  void letGoOfOld(std::span<const int64_t> ranks, Epochs& epochs);
  const Breakage* whyGone(std::span<const int64_t> ranks) const;
  const Breakage* whySilent(std::span<const int64_t> ranks) const;
  Exchange& join(std::string_view tag, std::span<const int64_t> ranks, size_t position);
  void breakExchangesOf(int64_t rank);
  std::vector<std::shared_ptr<TeamTable>> tablesOf(int64_t rank) const;

  const LocalOptions options_;
  mutable std::mutex mutex_;
  std::vector<Rank> ranks_;
  std::list<Exchange> exchanges_;
  std::condition_variable exchanged_;
  std::map<std::vector<int64_t>, Epochs> teams_;
};

}  // namespace tokamak
