#include "dist/nccl/nccl_communicator.h"

#include <map>
#include <mutex>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/library_version.h"
#include "base/require.h"
#include "base/text.h"
#include "dist/communication_error.h"
#include "dist/nccl/nccl_job.h"
#include "dist/nccl/nccl_work.h"
#include "dist/team_streams.h"

namespace tokamak {

namespace {

class NcclTeam final : public TeamCommunicator {
 public:
  NcclTeam(std::shared_ptr<NcclJob> job, std::shared_ptr<NcclTeamTable> table)
      : job_(std::move(job)), table_(std::move(table)), streams_(table_->ranks(), table_->rank(), job_->device()) {}

  std::span<const int64_t> ranks() const override { return table_->ranks(); }
  int64_t rank() const override { return table_->rank(); }
  int64_t epoch() const override { return table_->epoch(); }

  std::shared_ptr<const Work> prepare(std::span<const CommunicationRequest> group) override {
    TK_REQUIRE(!group.empty(), Usage, "team ({}): an empty group was given; it has nothing to communicate",
               joined(ranks(), " "));
    for (const CommunicationRequest& request : group) requireLegal(request, ranks(), rank());
    requireWhole();
    return std::make_shared<NcclWork>(job_, table_, group);
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
  const std::shared_ptr<NcclJob> job_;
  const std::shared_ptr<NcclTeamTable> table_;
  TeamStreams streams_;
};

class NcclCommunicator final : public Communicator {
 public:
  explicit NcclCommunicator(std::shared_ptr<NcclJob> job) : job_(std::move(job)) { compareVersions(); }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;
  // Who waits for this rank elsewhere is told first: it may be what its works wait for.
  ~NcclCommunicator() override {
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
    auto team = std::make_shared<NcclTeam>(job_, std::move(table));
    teams_.insert_or_assign(std::move(key), team);
    return team;
  }

  std::shared_ptr<const OperationLog> operations() const override { return job_->log(); }

 private:
  void compareVersions() {
    std::vector<int64_t> ranks(static_cast<size_t>(size()));
    std::iota(ranks.begin(), ranks.end(), int64_t{0});
    const std::string own = fmt::format("{} of Tokamak with NCCL {}", libraryVersion(), job_->library().version);
    const auto theirs = job_->sockets().exchange("versions", ranks, std::as_bytes(std::span(own)));
    for (const int64_t other : ranks) {
      const std::vector<std::byte>& bytes = theirs[static_cast<size_t>(other)];
      const std::string_view said(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      if (said != own)
        raiseOf({CommunicationFault::Mismatch, other,
                 fmt::format("rank {} has version {}, and rank {} has {}; all ranks have to have the same", rank(), own,
                             other, said)});
    }
  }

  const std::shared_ptr<NcclJob> job_;
  std::mutex teams_lock_;
  std::map<std::vector<int64_t>, std::shared_ptr<NcclTeam>> teams_;
};

}  // namespace

std::unique_ptr<Communicator> ncclCommunicator(Bootstrap& bootstrap, const std::shared_ptr<Device>& device,
                                               const NcclOptions& options) {
  TK_REQUIRE(options.timeout.count() > 0, Usage,
             "NCCL communicator: a time-out of {} ms was asked for; it has to be positive", options.timeout.count());
  TK_REQUIRE(device->properties().ordinal >= 0, Unsupported, "NCCL communicator: {} is no GPU; it is between GPUs",
             device->properties().name);
  const NcclLibrary& library = NcclLibrary::load(options.library);
  return std::make_unique<NcclCommunicator>(std::make_shared<NcclJob>(bootstrap, library, device, options));
}

}  // namespace tokamak
