#include "dist/job_end.h"

#include <exception>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "dist/communication_error.h"
#include "dist/communicator.h"
#include "dist/team_streams.h"

namespace tokamak {

namespace {

class JobTeam final : public TeamCommunicator {
 public:
  JobTeam(std::shared_ptr<JobEnd> end, std::shared_ptr<TeamState> state)
      : end_(std::move(end)), state_(std::move(state)), streams_(state_->ranks(), end_->rank(), end_->device()) {}

  std::span<const int64_t> ranks() const override { return state_->ranks(); }
  int64_t rank() const override { return end_->rank(); }
  int64_t epoch() const override { return state_->epoch(); }

  std::shared_ptr<const Work> prepare(std::span<const CommunicationRequest> group) override {
    TK_REQUIRE(!group.empty(), Usage, "team ({}): an empty group was given; it has nothing to communicate",
               joined(ranks(), " "));
    for (const CommunicationRequest& request : group) requireLegal(request, ranks(), rank());
    requireWhole();
    return end_->workOf(state_, group);
  }

  Stream& stream() override { return streams_.ofCollectives(); }
  Stream& stream(P2pType type, int64_t peer) override { return streams_.ofTransfers(type, peer); }

  void leave(const std::exception_ptr& error) override { state_->breakUp(breakageOf(error)); }
  void requireWhole() const override {
    end_->log()->withErrorsNoted([&] { state_->requireWhole(); });
  }
  bool isBroken() const { return state_->isBroken(); }
  void drain() { streams_.drain(); }

 private:
  // Who broke another team, because of which this rank leaves, has broken this one.
  Breakage breakageOf(const std::exception_ptr& error) const {
    try {
      std::rethrow_exception(error);
    } catch (const CommunicationError& known) {
      return {known.fault(), known.rank(), known.message()};
    } catch (...) {
      return {CommunicationFault::Failed, rank(),
              fmt::format("rank {} left team ({}): {}", rank(), joined(ranks(), " "), textOf(error))};
    }
  }

  const std::shared_ptr<JobEnd> end_;
  const std::shared_ptr<TeamState> state_;
  TeamStreams streams_;
};

class JobCommunicator final : public Communicator {
 public:
  explicit JobCommunicator(std::shared_ptr<JobEnd> end) : end_(std::move(end)) {}
  JobCommunicator(const JobCommunicator&) = delete;
  JobCommunicator& operator=(const JobCommunicator&) = delete;
  // Who waits for this rank elsewhere is told first: it may be what its works wait for.
  ~JobCommunicator() override {
    end_->beginLeaving();
    for (const auto& [ranks, team] : teams_) team->drain();
    end_->endLeaving();
  }

  int64_t rank() const override { return end_->rank(); }
  int64_t size() const override { return end_->size(); }
  const std::shared_ptr<Device>& device() const override { return end_->device(); }
  CommunicatorBackend backend() const override { return end_->backend(); }

  std::vector<std::vector<std::byte>> exchange(std::string_view tag, std::span<const int64_t> ranks,
                                               std::span<const std::byte> bytes) override {
    requireRanks({.ranks = ranks, .own = rank(), .job_size = size()}, fmt::format("exchange \"{}\"", tag));
    return end_->log()->withErrorsNoted([&] { return end_->exchange(tag, ranks, bytes); });
  }

  std::vector<int64_t> alive(std::span<const int64_t> ranks) const override {
    requireRanks({.ranks = ranks, .own = rank(), .job_size = size(), .needs_own = false}, "alive");
    return end_->alive(ranks);
  }

  std::shared_ptr<TeamCommunicator> team(std::span<const int64_t> ranks) override {
    requireRanks({.ranks = ranks, .own = rank(), .job_size = size()}, "team");
    const std::lock_guard lock(teams_lock_);
    std::vector<int64_t> key(ranks.begin(), ranks.end());
    const auto last = teams_.find(key);
    if (last != teams_.end() && !last->second->isBroken()) return last->second;
    const int64_t epoch = last == teams_.end() ? 0 : last->second->epoch() + 1;
    auto state = end_->log()->withErrorsNoted([&] { return end_->stateOf(ranks, epoch); });
    auto team = std::make_shared<JobTeam>(end_, std::move(state));
    teams_.insert_or_assign(std::move(key), team);
    return team;
  }

  std::shared_ptr<const OperationLog> operations() const override { return end_->log(); }

 private:
  const std::shared_ptr<JobEnd> end_;
  std::mutex teams_lock_;
  std::map<std::vector<int64_t>, std::shared_ptr<JobTeam>> teams_;
};

}  // namespace

std::unique_ptr<Communicator> communicatorOver(std::shared_ptr<JobEnd> end) {
  return std::make_unique<JobCommunicator>(std::move(end));
}

}  // namespace tokamak
