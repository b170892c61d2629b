#include "dist/peer_copy/peer_communicator.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "dist/communication_error.h"
#include "dist/peer_copy/peer_job.h"
#include "dist/peer_copy/peer_work.h"
#include "dist/team_streams.h"

namespace tokamak {

namespace {

class PeerTeam final : public TeamCommunicator {
 public:
  PeerTeam(std::shared_ptr<PeerJob> job, std::shared_ptr<PeerTeamTable> table)
      : job_(std::move(job)), table_(std::move(table)), streams_(table_->ranks(), table_->rank(), job_->device()) {}

  std::span<const int64_t> ranks() const override { return table_->ranks(); }
  int64_t rank() const override { return table_->rank(); }
  int64_t epoch() const override { return table_->epoch(); }

  std::shared_ptr<const Work> prepare(std::span<const CommunicationRequest> group) override {
    TK_REQUIRE(!group.empty(), Usage, "team ({}): an empty group was given; it has nothing to communicate",
               joined(ranks(), " "));
    for (const CommunicationRequest& request : group) requireLegal(request, ranks(), rank());
    requireWhole();
    return std::make_shared<PeerWork>(job_, table_, group);
  }

  Stream& stream() override { return streams_.ofCollectives(); }
  Stream& stream(P2pType type, int64_t peer) override { return streams_.ofTransfers(type, peer); }

  void leave(const std::exception_ptr& error) override {
    table_->breakUp({CommunicationFault::Failed, rank(),
                     fmt::format("rank {} left team ({}): {}", rank(), joined(ranks(), " "), textOf(error))});
  }
  void requireWhole() const override {
    job_->log()->withErrorsNoted([&] { table_->requireWhole(); });
  }
  bool isBroken() const { return table_->isBroken(); }
  void drain() { streams_.drain(); }

 private:
  const std::shared_ptr<PeerJob> job_;
  const std::shared_ptr<PeerTeamTable> table_;
  TeamStreams streams_;
};

class PeerCommunicator final : public Communicator {
 public:
  explicit PeerCommunicator(std::shared_ptr<PeerJob> job) : job_(std::move(job)) {}
  PeerCommunicator(const PeerCommunicator&) = delete;
  PeerCommunicator& operator=(const PeerCommunicator&) = delete;
  // Who waits for this rank elsewhere is told first: it may be what its works wait for.
  ~PeerCommunicator() override {
    job_->sockets().leave();
    for (const auto& [ranks, team] : teams_) team->drain();
    job_->leave();
  }

  int64_t rank() const override { return job_->sockets().rank(); }
  int64_t size() const override { return job_->sockets().size(); }
  const std::shared_ptr<Device>& device() const override { return job_->device(); }

  std::vector<std::vector<std::byte>> exchange(std::string_view tag, std::span<const int64_t> ranks,
                                               std::span<const std::byte> bytes) override {
    requireRanks({.ranks = ranks, .own = rank(), .job_size = size()}, fmt::format("exchange \"{}\"", tag));
    return job_->log()->withErrorsNoted([&] { return job_->sockets().exchange(tag, ranks, bytes); });
  }

  std::vector<int64_t> alive(std::span<const int64_t> ranks) const override {
    requireRanks({.ranks = ranks, .own = rank(), .job_size = size(), .needs_own = false}, "alive");
    return job_->sockets().alive(ranks);
  }

  std::shared_ptr<TeamCommunicator> team(std::span<const int64_t> ranks) override {
    requireRanks({.ranks = ranks, .own = rank(), .job_size = size()}, "team");
    const std::lock_guard lock(teams_lock_);
    std::vector<int64_t> key(ranks.begin(), ranks.end());
    const auto last = teams_.find(key);
    if (last != teams_.end() && !last->second->isBroken()) return last->second;
    const int64_t epoch = last == teams_.end() ? 0 : last->second->epoch() + 1;
    auto table = job_->log()->withErrorsNoted([&] { return job_->table(ranks, epoch); });
    auto team = std::make_shared<PeerTeam>(job_, std::move(table));
    teams_.insert_or_assign(std::move(key), team);
    return team;
  }

  std::shared_ptr<const OperationLog> operations() const override { return job_->log(); }

 private:
  const std::shared_ptr<PeerJob> job_;
  std::mutex teams_lock_;
  std::map<std::vector<int64_t>, std::shared_ptr<PeerTeam>> teams_;
};

}  // namespace

std::unique_ptr<Communicator> peerCommunicator(Bootstrap& bootstrap, const std::shared_ptr<Device>& device,
                                               const PeerOptions& options) {
  TK_REQUIRE(options.timeout.count() > 0, Usage,
             "peer-copy communicator: a time-out of {} ms was asked for; it has to be positive",
             options.timeout.count());
  TK_REQUIRE(device->properties().ordinal >= 0, Unsupported, "peer-copy communicator: {} is no GPU; it is between GPUs",
             device->properties().name);
  return std::make_unique<PeerCommunicator>(std::make_shared<PeerJob>(bootstrap, device, options));
}

}  // namespace tokamak
