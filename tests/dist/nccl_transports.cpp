// The NCCL transport as a case of the suite: a fake GPU per rank, and the fake NCCL between them.
#include <cstdlib>
#include <map>
#include <string>
#include <thread>

#include "compile/temporary_folder.h"
#include "dist/nccl/nccl_communicator.h"
#include "fake_nccl.h"
#include "jit/open_device.h"
#include "ranks_fixture.h"

namespace tokamak {

std::string fakeReductionKernels() {
  std::string image = "fake module\n";
  for (const std::string type : {"f16", "bf16", "f32", "f64"})
    for (const std::string kernel : {"order_max_", "order_min_", "restore_", "widen_", "narrow_"})
      image += kernel + type + " " + kernel + type + " 8 8 8\n";
  return image;
}

std::vector<std::unique_ptr<Communicator>> fakeNcclCommunicators(int64_t ranks, const NcclOptions& given) {
  NcclOptions options = given;
  options.library = TOKAMAK_FAKE_DRIVER;
  options.reduction_kernels = fakeReductionKernels();
  const auto bootstraps = threadBootstraps(ranks, std::chrono::seconds(20));
  std::vector<std::unique_ptr<Communicator>> made(static_cast<size_t>(ranks));
  std::vector<std::shared_ptr<Device>> devices;  // one after the other: each start reads the driver's settings
  for (int64_t rank = 0; rank < ranks; ++rank) devices.push_back(openFakeDevice({}, rank));
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < made.size(); ++rank)
    threads.emplace_back([&, rank] { made[rank] = ncclCommunicator(*bootstraps[rank], devices[rank], options); });
  for (std::thread& thread : threads) thread.join();
  return made;
}

namespace {

using Communicators = std::vector<std::unique_ptr<Communicator>>;

// A GPU for each rank; none where there are fewer.
Communicators onGpus(int64_t ranks, std::chrono::milliseconds timeout) {
  if (ranks > countCudaDevices()) return {};
  const auto bootstraps = threadBootstraps(ranks, std::chrono::seconds(20));
  Communicators made(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < made.size(); ++rank)
    threads.emplace_back([&, rank] {
      const NcclOptions options = {.library = {}, .timeout = timeout, .reduction_kernels = {}};
      made[rank] = ncclCommunicator(*bootstraps[rank], openCudaDevice(static_cast<int64_t>(rank)), options);
    });
  for (std::thread& thread : threads) thread.join();
  return made;
}

// This process's GPU is the one of its number.
Communicators onOwnGpu(int64_t ranks, std::chrono::milliseconds timeout) {
  TcpBootstrapOptions job = tcpBootstrapFromEnvironment();
  Communicators made;
  if (job.size < ranks || job.rank >= ranks) return made;
  job.size = ranks;
  const auto bootstrap = tcpBootstrap(job);
  const NcclOptions options = {.library = {}, .timeout = timeout, .reduction_kernels = {}};
  made.push_back(ncclCommunicator(*bootstrap, openCudaDevice(job.rank), options));
  return made;
}

void meetGpuProcesses(int64_t ranks) {
  static std::map<int64_t, std::unique_ptr<Bootstrap>> meetings;
  std::unique_ptr<Bootstrap>& meeting = meetings[ranks];
  TcpBootstrapOptions job = tcpBootstrapFromEnvironment();
  job.size = ranks;
  job.port += ranks;
  if (meeting == nullptr) meeting = tcpBootstrap(job);
  meeting->exchange({});
}

}  // namespace

std::vector<TransportCase> ncclTransportCases() {
  if (const char* const where = std::getenv("TOKAMAK_TEST_NCCL"); where != nullptr) {
    if (std::string(where) == "threads") return {{.name = "nccl", .make = onGpus, .compares_all = false}};
    return {{.name = "nccl", .make = onOwnGpu, .meet = meetGpuProcesses, .compares_all = false}};
  }
  return {{.name = "nccl_fake",
           .make =
               [](int64_t ranks, std::chrono::milliseconds timeout) {
                 const FakeSettings settings(kFakeGpus);
                 return fakeNcclCommunicators(ranks, {.library = {}, .timeout = timeout, .reduction_kernels = {}});
               },
           .compares_all = false}};
}

}  // namespace tokamak
