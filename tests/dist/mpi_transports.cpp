// The MPI transport as cases of the suite: processes of a fake MPI, which are threads, and those of mpirun.
#include <cstdlib>
#include <map>

#include "dist/mpi/mpi_communicator.h"
#include "fake_mpi.h"
#include "jit/open_device.h"
#include "ranks_fixture.h"

namespace tokamak {

namespace {

using Communicators = std::vector<std::unique_ptr<Communicator>>;

// The communicators meet when they are made.
Communicators onFake(const FakeMpi& mpi, const MpiOptions& options) {
  const std::vector<std::shared_ptr<MpiWorld>> worlds = mpi.worlds();
  Communicators made(worlds.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < worlds.size(); ++rank)
    threads.emplace_back(
        [&, rank] { made[rank] = mpiCommunicator(worlds[rank], openCpuDevice({.threads = 1}), options); });
  for (std::thread& thread : threads) thread.join();
  return made;
}

// Lives as long as the job's communicators are asked for, as their worlds hold it by reference.
Communicators withFake(int64_t ranks, std::chrono::milliseconds timeout) {
  static std::vector<std::unique_ptr<FakeMpi>> fakes;
  fakes.push_back(std::make_unique<FakeMpi>(ranks));
  return onFake(*fakes.back(), {.timeout = std::max(timeout, std::chrono::milliseconds(60))});
}

// This process's rank, or nothing where the job is smaller, or larger than what mpirun has started.
Communicators withProcesses(int64_t ranks, std::chrono::milliseconds timeout) {
  const MpiProcess process = mpiProcess();
  Communicators made;
  if (process.size < ranks || process.rank >= ranks) return made;
  made.push_back(mpiCommunicator(openCpuDevice({.threads = 1}), {.timeout = timeout, .ranks = ranks}));
  return made;
}

void meetProcesses(int64_t ranks) {
  static std::map<int64_t, std::unique_ptr<Communicator>> meetings;
  std::unique_ptr<Communicator>& meeting = meetings[ranks];
  if (meeting == nullptr)
    meeting = mpiCommunicator(openCpuDevice({.threads = 1}), {.timeout = std::chrono::seconds(30), .ranks = ranks});
  meeting->exchange("end", firstRanks(ranks), {});
}

}  // namespace

bool isUnderMpirun() { return std::getenv("TOKAMAK_TEST_UNDER_MPIRUN") != nullptr; }

std::vector<TransportCase> mpiTransportCases() {
  if (isUnderMpirun()) return {{.name = "mpi", .make = withProcesses, .meet = meetProcesses}};
  return {{.name = "mpi_fake", .make = withFake}};
}

}  // namespace tokamak
