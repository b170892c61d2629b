#include "dist/local/local_communicator.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "dist/communication_error.h"
#include "dist/local/local_job.h"
#include "dist/local/local_work.h"
#include "dist/team_streams.h"

namespace tokamak {

namespace {

class LocalTeam final : public TeamCommunicator {
 public:
  LocalTeam(std::shared_ptr<LocalJob> job, std::shared_ptr<TeamTable> table, int64_t rank,
            std::shared_ptr<Device> device)
      : job_(std::move(job)),
        table_(std::move(table)),
        rank_(rank),
        streams_(table_->ranks(), rank, std::move(device)) {}

  std::span<const int64_t> ranks() const override { return table_->ranks(); }
  int64_t rank() const override { return rank_; }
  int64_t epoch() const override { return table_->epoch(); }
  const std::shared_ptr<TeamTable>& table() const { return table_; }

  std::shared_ptr<const Work> prepare(std::span<const CommunicationRequest> group) override {
    TK_REQUIRE(!group.empty(), Usage, "team ({}): an empty group was given; it has nothing to communicate",
               joined(ranks(), " "));
    for (const CommunicationRequest& request : group) requireLegal(request, ranks(), rank_);
    requireWhole();
    return std::make_shared<LocalWork>(job_, table_, rank_, group);
  }

  Stream& stream() override { return streams_.ofCollectives(); }
  Stream& stream(P2pType type, int64_t peer) override { return streams_.ofTransfers(type, peer); }

  void leave(const std::exception_ptr& error) override {
    table_->breakUp({CommunicationFault::Failed, rank_,
                     fmt::format("rank {} left team ({}): {}", rank_, joined(ranks(), " "), textOf(error))});
  }
  void requireWhole() const override {
    job_->logOf(rank_)->withErrorsNoted([&] { table_->requireWhole(); });
  }

  void drain() { streams_.drain(); }

 private:
  const std::shared_ptr<LocalJob> job_;
  const std::shared_ptr<TeamTable> table_;
  const int64_t rank_;
  TeamStreams streams_;
};

class LocalCommunicator final : public Communicator {
 public:
  LocalCommunicator(std::shared_ptr<LocalJob> job, int64_t rank, std::shared_ptr<Device> device)
      : job_(std::move(job)), rank_(rank), device_(std::move(device)) {}
  LocalCommunicator(const LocalCommunicator&) = delete;
  LocalCommunicator& operator=(const LocalCommunicator&) = delete;
  // Who waits for this rank elsewhere is told first: it may be what its works wait for.
  ~LocalCommunicator() override {
    job_->noteLeaving(rank_);
    for (const auto& [ranks, team] : teams_) team->drain();
    job_->noteLeft(rank_);
  }

  int64_t rank() const override { return rank_; }
  int64_t size() const override { return job_->size(); }
  const std::shared_ptr<Device>& device() const override { return device_; }

  std::vector<std::vector<std::byte>> exchange(std::string_view tag, std::span<const int64_t> ranks,
                                               std::span<const std::byte> bytes) override {
    requireRanks({.ranks = ranks, .own = rank_, .job_size = size()}, fmt::format("exchange \"{}\"", tag));
    return job_->logOf(rank_)->withErrorsNoted([&] { return job_->exchange(rank_, tag, ranks, bytes); });
  }

  std::vector<int64_t> alive(std::span<const int64_t> ranks) const override {
    requireRanks({.ranks = ranks, .own = rank_, .job_size = size(), .needs_own = false}, "alive");
    return job_->alive(ranks);
  }

  std::shared_ptr<TeamCommunicator> team(std::span<const int64_t> ranks) override {
    requireRanks({.ranks = ranks, .own = rank_, .job_size = size()}, "team");
    const std::lock_guard lock(teams_lock_);
    std::vector<int64_t> key(ranks.begin(), ranks.end());
    const auto last = teams_.find(key);
    if (last != teams_.end() && !last->second->table()->isBroken()) return last->second;
    const int64_t epoch = last == teams_.end() ? 0 : last->second->epoch() + 1;
    auto table = job_->logOf(rank_)->withErrorsNoted([&] { return job_->table(rank_, ranks, epoch); });
    auto team = std::make_shared<LocalTeam>(job_, std::move(table), rank_, device_);
    teams_.insert_or_assign(std::move(key), team);
    return team;
  }

  std::shared_ptr<const OperationLog> operations() const override { return job_->logOf(rank_); }

 private:
  const std::shared_ptr<LocalJob> job_;
  const int64_t rank_;
  const std::shared_ptr<Device> device_;
  std::mutex teams_lock_;
  std::map<std::vector<int64_t>, std::shared_ptr<LocalTeam>> teams_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> makeLocalCommunicators(std::span<const std::shared_ptr<Device>> devices,
                                                                  const LocalOptions& options) {
  TK_REQUIRE(!devices.empty(), Usage, "local communicators: no devices were given; a job has a rank on each");
  TK_REQUIRE(options.timeout.count() > 0, Usage,
             "local communicators: a time-out of {} ms was asked for; it has to be positive", options.timeout.count());
  for (const auto& device : devices)
    TK_REQUIRE(device->properties().ordinal < 0, Unsupported,
               "local communicators: {} has memory of its own; they are for devices whose memory is the host's",
               device->properties().name);
  const auto job = std::make_shared<LocalJob>(static_cast<int64_t>(devices.size()), options);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (size_t rank = 0; rank < devices.size(); ++rank)
    communicators.push_back(std::make_unique<LocalCommunicator>(job, static_cast<int64_t>(rank), devices[rank]));
  return communicators;
}

}  // namespace tokamak
