// Peer copies as cases of the suite: ranks with a fake GPU each, on one, and, where that is asked for, on GPUs.
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "compile/temporary_folder.h"
#include "dist/peer_copy/peer_communicator.h"
#include "dist/peer_copy/peer_reduction.h"
#include "fake_nccl.h"
#include "fake_peer.h"
#include "jit/open_device.h"
#include "ranks_fixture.h"
#include "toolchain/nvrtc.h"

namespace tokamak {

namespace {

using PeerCommunicators = std::vector<std::unique_ptr<Communicator>>;

PeerCommunicators peerRanksAsThreads(const std::vector<std::shared_ptr<Device>>& devices, const PeerOptions& options) {
  const auto bootstraps = threadBootstraps(std::ssize(devices), std::chrono::seconds(20));
  PeerCommunicators made(devices.size());
  std::vector<std::string> failures(devices.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < made.size(); ++rank)
    threads.emplace_back([&, rank] {
      try {
        made[rank] = peerCommunicator(*bootstraps[rank], devices[rank], options);
      } catch (const std::exception& error) {
        failures[rank] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
  return made;
}

// Compiled once for all jobs.
const std::string& kernelsOfTest() {
  static const std::string image = [] {
    if (std::getenv("TOKAMAK_TEST_PEER_FAKE") != nullptr) return fakePeerKernels();
    const std::string architecture = openCudaDevice(0)->properties().architecture;
    return NvrtcCompiler({.architecture = architecture, .extra_flags = {}}).compile(peerReductionSource())->image;
  }();
  return image;
}

PeerOptions optionsOfTest(std::chrono::milliseconds timeout) {
  return {.timeout = timeout, .reduction_kernels = kernelsOfTest()};
}

// $WORLD_SIZE threads share the GPUs.
PeerCommunicators onSharedGpus(int64_t ranks, std::chrono::milliseconds timeout) {
  if (ranks > tcpBootstrapFromEnvironment().size) return {};
  std::vector<std::shared_ptr<Device>> devices;
  for (int64_t rank = 0; rank < ranks; ++rank) devices.push_back(openCudaDevice(rank % countCudaDevices()));
  return peerRanksAsThreads(devices, optionsOfTest(timeout));
}

// This process is one of $WORLD_SIZE. Jobs of other sizes meet elsewhere: who is none of theirs may be ahead.
PeerCommunicators onOwnOrSharedGpu(int64_t ranks, std::chrono::milliseconds timeout) {
  TcpBootstrapOptions job = tcpBootstrapFromEnvironment();
  PeerCommunicators made;
  if (job.size < ranks || job.rank >= ranks) return made;
  job.size = ranks;
  job.port += 16 + ranks;
  const auto bootstrap = tcpBootstrap(job);
  made.push_back(peerCommunicator(*bootstrap, openCudaDevice(job.rank % countCudaDevices()), optionsOfTest(timeout)));
  return made;
}

void meetPeerProcesses(int64_t ranks) {
  static std::map<int64_t, std::unique_ptr<Bootstrap>> meetings;
  std::unique_ptr<Bootstrap>& meeting = meetings[ranks];
  TcpBootstrapOptions job = tcpBootstrapFromEnvironment();
  job.size = ranks;
  job.port += ranks;
  if (meeting == nullptr) meeting = tcpBootstrap(job);
  meeting->exchange({});
}

}  // namespace

std::string fakePeerKernels() {
  std::string image = "fake module\n";
  for (const std::string_view type : {"f16", "bf16", "f32", "f64", "i32", "i64", "bool"})
    for (const std::string_view kind : {"sum", "prod", "max", "min"})
      image += fmt::format("reduce_{0}_{1} reduce_{0}_{1} 8 8 8 8 8 8 8\n", kind, type);
  return image;
}

PeerCommunicators fakePeerCommunicators(const FakePeerJob& job) {
  std::vector<std::shared_ptr<Device>> devices;  // one after the other: each start reads the driver's settings
  for (int64_t rank = 0; rank < job.ranks; ++rank) devices.push_back(openFakeDevice({}, rank % job.gpus));
  return peerRanksAsThreads(devices, {.timeout = job.timeout, .reduction_kernels = fakePeerKernels()});
}

std::vector<TransportCase> peerTransportCases() {
  if (const char* const where = std::getenv("TOKAMAK_TEST_PEER"); where != nullptr) {
    if (std::string(where) == "threads") return {{.name = "peer", .make = onSharedGpus}};
    return {{.name = "peer", .make = onOwnOrSharedGpu, .meet = meetPeerProcesses}};
  }
  const auto fakeCase = [](const std::string& name, int64_t gpus) {
    return TransportCase{.name = name, .make = [gpus](int64_t ranks, std::chrono::milliseconds timeout) {
                           const FakeSettings settings(kFakeGpus);
                           return fakePeerCommunicators({.ranks = ranks, .gpus = gpus, .timeout = timeout});
                         }};
  };
  return {fakeCase("peer_fake", 8), fakeCase("peer_fake_one_gpu", 1)};
}

}  // namespace tokamak
