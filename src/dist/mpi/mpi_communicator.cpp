#include "dist/mpi/mpi_communicator.h"

#include <array>
#include <fstream>
#include <map>
#include <mutex>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "base/library_version.h"
#include "base/require.h"
#include "base/text.h"
#include "dist/communication_error.h"
#include "dist/mpi/mpi_job.h"
#include "dist/mpi/mpi_library.h"
#include "dist/mpi/mpi_work.h"
#include "dist/team_streams.h"

namespace tokamak {

namespace {

class MpiTeam final : public TeamCommunicator {
 public:
  MpiTeam(std::shared_ptr<MpiJob> job, std::shared_ptr<MpiTeamTable> table, std::shared_ptr<Device> device)
      : job_(std::move(job)), table_(std::move(table)), streams_(table_->ranks(), job_->rank(), std::move(device)) {}

  std::span<const int64_t> ranks() const override { return table_->ranks(); }
  int64_t rank() const override { return job_->rank(); }
  int64_t epoch() const override { return table_->epoch(); }

  std::shared_ptr<const Work> prepare(std::span<const CommunicationRequest> group) override {
    TK_REQUIRE(!group.empty(), Usage, "team ({}): an empty group was given; it has nothing to communicate",
               joined(ranks(), " "));
    for (const CommunicationRequest& request : group) requireLegal(request, ranks(), rank());
    requireWhole();
    return std::make_shared<MpiWork>(job_, table_, group);
  }

  Stream& stream() override { return streams_.ofCollectives(); }
  Stream& stream(P2pType type, int64_t peer) override { return streams_.ofTransfers(type, peer); }

  void leave(const std::exception_ptr& error) override {
    const std::lock_guard lock(job_->world().mutex());
    table_->breakUp({CommunicationFault::Failed, rank(),
                     fmt::format("rank {} left team ({}): {}", rank(), joined(ranks(), " "), textOf(error))});
  }
  void requireWhole() const override {
    job_->log()->withErrorsNoted([&] { table_->requireWhole(); });
  }
  bool isBroken() const { return table_->isBroken(); }

  void drain() { streams_.drain(); }

 private:
  const std::shared_ptr<MpiJob> job_;
  const std::shared_ptr<MpiTeamTable> table_;
  TeamStreams streams_;
};

// Of the running system: processes of one of them see one another by their ids.
std::string systemId() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  std::array<char, 64> ids = {};
  const ssize_t length = readlink("/proc/self/ns/pid", ids.data(), ids.size());
  return id + std::string(ids.data(), length > 0 ? static_cast<size_t>(length) : 0);
}

std::string_view textOf(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(std::shared_ptr<MpiJob> job, std::shared_ptr<Device> device)
      : job_(std::move(job)), device_(std::move(device)) {
    meet();
  }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;
  // Who waits for this rank elsewhere is told first: it may be what its works wait for.
  ~MpiCommunicator() override {
    job_->tellAll(MpiMessageKind::Leaving);
    for (const auto& [ranks, team] : teams_) team->drain();
    job_->tellAll(MpiMessageKind::Left);
  }

  int64_t rank() const override { return job_->rank(); }
  int64_t size() const override { return job_->size(); }
  const std::shared_ptr<Device>& device() const override { return device_; }

  std::vector<std::vector<std::byte>> exchange(std::string_view tag, std::span<const int64_t> ranks,
                                               std::span<const std::byte> bytes) override {
    requireRanks({.ranks = ranks, .own = rank(), .job_size = size()}, fmt::format("exchange \"{}\"", tag));
    return job_->log()->withErrorsNoted([&] { return job_->exchange(tag, ranks, bytes); });
  }

  std::vector<int64_t> alive(std::span<const int64_t> ranks) const override {
    requireRanks({.ranks = ranks, .own = rank(), .job_size = size(), .needs_own = false}, "alive");
    return job_->alive(ranks);
  }

  std::shared_ptr<TeamCommunicator> team(std::span<const int64_t> ranks) override {
    requireRanks({.ranks = ranks, .own = rank(), .job_size = size()}, "team");
    const std::lock_guard lock(teams_lock_);
    std::vector<int64_t> key(ranks.begin(), ranks.end());
    const auto last = teams_.find(key);
    if (last != teams_.end() && !last->second->isBroken()) return last->second;
    const int64_t epoch = last == teams_.end() ? 0 : last->second->epoch() + 1;
    auto table = job_->log()->withErrorsNoted([&] { return job_->table(ranks, epoch); });
    auto team = std::make_shared<MpiTeam>(job_, std::move(table), device_);
    teams_.insert_or_assign(std::move(key), team);
    return team;
  }

  std::shared_ptr<const OperationLog> operations() const override { return job_->log(); }

 private:
  // All are here, have one version, and know whose end to watch for.
  void meet() {
    std::vector<int64_t> ranks(static_cast<size_t>(size()));
    std::iota(ranks.begin(), ranks.end(), int64_t{0});
    const std::string system = systemId();
    const std::string facts = fmt::format("{}\n{}\n{}", libraryVersion(), system, getpid());
    const auto theirs = job_->exchange("communicator", ranks, std::as_bytes(std::span(facts)));
    const std::lock_guard lock(job_->world().mutex());
    for (const int64_t other : ranks) {
      const std::vector<std::string_view> lines = linesOf(textOf(theirs[static_cast<size_t>(other)]));
      if (lines[0] != libraryVersion())
        raiseOf({CommunicationFault::Mismatch, other,
                 fmt::format("rank {} has version {} of Tokamak, and rank {} has {}; all ranks have to have the same",
                             rank(), libraryVersion(), other, lines[0])});
      const int64_t pid = std::stoll(std::string(lines[2]));
      if (lines[1] == system && pid != getpid()) job_->world().watch(other, pid);
    }
  }

  const std::shared_ptr<MpiJob> job_;
  const std::shared_ptr<Device> device_;
  std::mutex teams_lock_;
  std::map<std::vector<int64_t>, std::shared_ptr<MpiTeam>> teams_;
};

}  // namespace

std::unique_ptr<Communicator> mpiCommunicator(std::shared_ptr<MpiWorld> world, const std::shared_ptr<Device>& device,
                                              const MpiOptions& options) {
  const int64_t ranks = options.ranks.value_or(world->size());
  TK_REQUIRE(options.timeout.count() > 0, Usage,
             "MPI communicator: a time-out of {} ms was asked for; it has to be positive", options.timeout.count());
  TK_REQUIRE(0 < ranks && ranks <= world->size(), Usage,
             "MPI communicator: {} ranks were asked for; mpirun has started {} processes", ranks, world->size());
  TK_REQUIRE(world->rank() < ranks, Usage, "MPI communicator: this process is rank {}, and of the ranks there are {}",
             world->rank(), ranks);
  TK_REQUIRE(device->properties().ordinal < 0, Unsupported,
             "MPI communicator: {} has memory of its own; it is for devices whose memory is the host's",
             device->properties().name);
  return std::make_unique<MpiCommunicator>(std::make_shared<MpiJob>(std::move(world), ranks, options), device);
}

std::unique_ptr<Communicator> mpiCommunicator(const std::shared_ptr<Device>& device, const MpiOptions& options) {
  return mpiCommunicator(mpiWorld(), device, options);
}

MpiProcess mpiProcess() {
  const std::shared_ptr<MpiWorld> world = mpiWorld();
  return {.rank = world->rank(), .size = world->size(), .library = world->name()};
}

}  // namespace tokamak
