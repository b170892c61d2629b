#include "dist/mpi/mpi_communicator.h"

#include <array>
#include <fstream>
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
#include "dist/job_end.h"
#include "dist/mpi/mpi_job.h"
#include "dist/mpi/mpi_library.h"

namespace tokamak {

namespace {

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

// All are here, have one version, and know whose end to watch for.
void meet(MpiJob& job) {
  std::vector<int64_t> ranks(static_cast<size_t>(job.size()));
  std::iota(ranks.begin(), ranks.end(), int64_t{0});
  const std::string system = systemId();
  const std::string facts = fmt::format("{}\n{}\n{}", libraryVersion(), system, getpid());
  const auto theirs = job.exchange("communicator", ranks, std::as_bytes(std::span(facts)));
  const std::lock_guard lock(job.world().mutex());
  for (const int64_t other : ranks) {
    const std::vector<std::string_view> lines = linesOf(textOf(theirs[static_cast<size_t>(other)]));
    if (lines[0] != libraryVersion())
      raiseOf({CommunicationFault::Mismatch, other,
               fmt::format("rank {} has version {} of Tokamak, and rank {} has {}; all ranks have to have the same",
                           job.rank(), libraryVersion(), other, lines[0])});
    const int64_t pid = std::stoll(std::string(lines[2]));
    if (lines[1] == system && pid != getpid()) job.world().watch(other, pid);
  }
}

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
  auto job = std::make_shared<MpiJob>(std::move(world), device, ranks, options);
  meet(*job);
  return communicatorOver(std::move(job));
}

std::unique_ptr<Communicator> mpiCommunicator(const std::shared_ptr<Device>& device, const MpiOptions& options) {
  return mpiCommunicator(mpiWorld(), device, options);
}

MpiProcess mpiProcess() {
  const std::shared_ptr<MpiWorld> world = mpiWorld();
  return {.rank = world->rank(), .size = world->size(), .library = world->name()};
}

}  // namespace tokamak
