// What peer copies promise beyond the suite: what they reach, faults of the driver, GPUs that are late, deaths.
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>

#include "base/error.h"
#include "dist/peer_copy/peer_job.h"
#include "dist/peer_copy/peer_memory.h"
#include "dist/peer_copy/peer_reads.h"
#include "dist/peer_copy/peer_reduction.h"
#include "error_of.h"
#include "fake_nccl.h"
#include "fake_peer.h"
#include "jit/open_device.h"
#include "ranks_fixture.h"
#include "runtime/cuda/cuda_device.h"
#include "toolchain/nvrtc.h"
#include "toolchain/nvrtc_library.h"

namespace tokamak {

namespace {

using Kind = CommunicationKind;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::StartsWith;

const CommunicationRequest kSumOfFour = {.kind = Kind::Allreduce, .counts = {4}};

TestJob peerJob(int64_t ranks, milliseconds timeout = std::chrono::seconds(20)) {
  return TestJob(fakePeerCommunicators({.ranks = ranks, .timeout = timeout}));
}

std::shared_ptr<DriverContext> fakeContext() { return std::shared_ptr<CudaDevice>(openFakeDevice())->context(); }

TEST(PeerCopy, CommunicatorsThatCannotBeAreRefused) {
  const auto bootstraps = threadBootstraps(1, std::chrono::seconds(1));
  const Error on_cpu = errorOf([&] { peerCommunicator(*bootstraps[0], openCpuDevice()); });
  EXPECT_EQ(on_cpu.code(), ErrorCode::Unsupported);
  EXPECT_EQ(on_cpu.message(), "peer-copy communicator: cpu is no GPU; it is between GPUs");
  const Error without_time =
      errorOf([&] { peerCommunicator(*bootstraps[0], openCpuDevice(), {.timeout = milliseconds(0)}); });
  EXPECT_EQ(without_time.code(), ErrorCode::Usage);
  EXPECT_EQ(without_time.message(), "peer-copy communicator: a time-out of 0 ms was asked for; it has to be positive");
}

TEST(PeerCopy, RanksOfAnotherHostOrVersionAreRefused) {
  const std::array<PeerCard, 2> hosts = {PeerCard{.version = "1", .host = "a"}, PeerCard{.version = "1", .host = "b"}};
  const Error apart = errorOf([&] { requireOneJob(hosts); });
  EXPECT_EQ(apart.code(), ErrorCode::Unsupported);
  EXPECT_EQ(apart.message(), "peer-copy communicator: ranks 0 and 1 are on two hosts; it is between GPUs of one");
  const std::array<PeerCard, 3> versions = {PeerCard{.version = "1"}, PeerCard{.version = "1"},
                                            PeerCard{.version = "2"}};
  const CommunicationError other = failureOf([&] { requireOneJob(versions); });
  EXPECT_EQ(other.fault(), CommunicationFault::Mismatch);
  EXPECT_EQ(other.rank(), 2);
  EXPECT_EQ(other.message(), "rank 0 has version 1 of Tokamak, and rank 2 has 2; all ranks have to have the same");
}

// What each of two ranks is told, on GPUs of their own.
std::array<std::string, 2> failuresOfMeeting() {
  const auto bootstraps = threadBootstraps(2, std::chrono::seconds(5));
  const std::vector<std::shared_ptr<Device>> devices = {openFakeDevice({}, 0), openFakeDevice({}, 1)};
  std::array<std::string, 2> failures;
  const auto meet = [&](size_t rank) {
    const Error error = errorOf([&] { peerCommunicator(*bootstraps[rank], devices[rank]); });
    EXPECT_EQ(error.code(), ErrorCode::Unsupported);
    failures[rank] = error.message();
  };
  std::thread second([&] { meet(1); });
  meet(0);
  second.join();
  return failures;
}

TEST(PeerCopy, GpusThatDoNotReachEachOtherAreNamedOnAllRanks) {
  const FakeSettings settings("devices=2 peers=0");
  for (const std::string& failure : failuresOfMeeting())
    EXPECT_EQ(failure, "peer-copy communicator: cuda:0 of rank 0 cannot reach the memory of cuda:1 of rank 1");
}

TEST(PeerCopy, WhatTheDriverSaysOfAccessIsToldToAllRanks) {
  const FakeSettings settings("devices=2 fail=cuDeviceCanAccessPeer:101:1 fail=cuDeviceCanAccessPeer:101:2");
  for (const std::string& failure : failuresOfMeeting())
    EXPECT_EQ(
        failure,
        "peer-copy communicator: cuda:0 of rank 0 cannot reach the memory of cuda:1 of rank 1: the driver reports "
        "CUDA_ERROR_INVALID_DEVICE (101): invalid device ordinal");
}

TEST(PeerCopy, RanksOnOneGpuNeedNoAccessToOthers) {
  const FakeSettings settings("devices=1 peers=0");
  TestJob(fakePeerCommunicators({.ranks = 2, .gpus = 1})).run([](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(2));
    rank.start(*team, operationOf({.count = 20}, firstRanks(2)), 1);
    rank.check();
  });
}

TEST(PeerCopy, MemoryWithoutAHandleIsRefused) {
  const FakeSettings settings("devices=1");
  const auto device = std::shared_ptr<CudaDevice>(openFakeDevice());
  PeerMemory memory(device->context(), {1, 0});
  const auto stream = device->createStream();
  void* const pinned = device->allocate(64, MemoryKind::Pinned, *stream);
  const Error error = errorOf([&] { memory.share(pinned); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_THAT(error.message(), HasSubstr("cannot be shared with other processes, which memory of cuMemAlloc and of "
                                         "arenas can: the driver reports CUDA_ERROR_INVALID_VALUE (1)"));
  device->release(pinned, 64, MemoryKind::Pinned, *stream);
}

TEST(PeerCopy, MemoryThatCannotBeOpenedIsNamedWithItsRank) {
  const FakeSettings settings("devices=1");
  const auto device = std::shared_ptr<CudaDevice>(openFakeDevice());
  PeerMemory memory(device->context(), {1, 0});
  const auto stream = device->createStream();
  void* const block = device->allocate(64, MemoryKind::Device, *stream);
  const PeerAddress own = memory.share(static_cast<std::byte*>(block) + 16);
  EXPECT_EQ(memory.reach(0, own), static_cast<std::byte*>(block) + 16);
  EXPECT_EQ(memory.reach(1, {}), nullptr);
  const Error error = errorOf([&] { memory.reach(1, own); });  // the driver opens no handle of its own process
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_EQ(error.message(),
            "cuda:0: memory of rank 1 cannot be reached: the driver reports "
            "CUDA_ERROR_INVALID_CONTEXT (201): invalid device context");
  EXPECT_EQ(memory.openCount(), 0);
  device->release(block, 64, MemoryKind::Device, *stream);
}

TEST(PeerCopy, SharedMemoryThatIsFreedIsFoundWithTheNextOne) {
  const FakeSettings settings("devices=1");
  const auto context = fakeContext();
  PeerMemory memory(context, {1, 0});
  const CurrentContext current(*context);
  std::array<driver::Address, 3> blocks = {};
  std::array<PeerAddress, 3> shared;
  const auto share = [&](size_t i) {
    context->driver().memory_allocate(&blocks[i], 512);
    shared[i] = memory.share(std::bit_cast<void*>(blocks[i]));
  };
  share(0);
  share(1);
  EXPECT_EQ(memory.takeFreed(), std::vector<int64_t>());
  context->driver().memory_free(blocks[0]);
  share(2);  // in its place
  EXPECT_EQ(blocks[2], blocks[0]);
  EXPECT_NE(shared[2].allocation, shared[0].allocation);
  EXPECT_EQ(memory.takeFreed(), std::vector<int64_t>{shared[0].allocation});
  EXPECT_EQ(memory.takeFreed(), std::vector<int64_t>());
  memory.close(1, shared[0].allocation);  // nothing is open
  context->driver().memory_free(blocks[1]);
  context->driver().memory_free(blocks[2]);
}

// What each rank is told where a function of the driver fails on one of them, and that all go on.
void expectDriverFault(const std::string& fault) {
  SCOPED_TRACE(fault);
  const FakeSettings settings(kFakeGpus);
  TestJob job = peerJob(2);
  const FakeSettings failing(std::string(kFakeGpus) + " fail=" + fault);
  job.run([&](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(2));
    void* const buffer = rank.memory(64);
    rank.device().synchronize(rank.current());
    rank.communicator().exchange("ready", firstRanks(2), {});
    if (rank.rank() == 0) openFakeDevice();  // reads the settings: from now on it fails
    rank.communicator().exchange("set", firstRanks(2), {});
    rank.wait(rank.post(*team, {&kSumOfFour, 1}, {buffer, buffer}));
    EXPECT_THROW(rank.device().synchronize(rank.current()), Error);
    const CommunicationError broken = failureOf([&] { team->requireWhole(); });
    EXPECT_EQ(broken.fault(), CommunicationFault::Failed);
    EXPECT_THAT(broken.message(), HasSubstr(" cannot take part in Allreduce 0 of team (0 1): "));
    EXPECT_THAT(broken.message(), HasSubstr("the driver reports CUDA_ERROR_INVALID_VALUE (1): invalid argument"));
    rank.communicator().exchange("seen", firstRanks(2), {});
    const auto again = rank.communicator().team(firstRanks(2));
    EXPECT_EQ(again->epoch(), 1);
    rank.start(*again, operationOf({.count = 20}, firstRanks(2)), 1);
    rank.check();
  });
}

TEST(PeerCopy, FaultsOfTheDriverAreToldToAllRanks) {
  expectDriverFault("cuStreamWriteValue64_v2:1");
  expectDriverFault("cuStreamWaitValue64_v2:1");
  expectDriverFault("cuLaunchKernelEx:1");
}

TEST(PeerCopy, ACapturedStreamIsRefused) {
  const FakeSettings settings(kFakeGpus);
  peerJob(1).run([](TestRank& rank) {
    auto& device = static_cast<CudaDevice&>(rank.device());
    const auto team = rank.communicator().team(firstRanks(1));
    const auto work = team->prepare(kSumOfFour);
    const DriverLibrary& driver = device.context()->driver();
    driver::Stream stream = nullptr;
    driver::Graph graph = nullptr;
    {
      const CurrentContext current(*device.context());
      driver.stream_create(&stream, driver::kStreamNonBlocking);
      driver.capture_begin(stream, driver::kCaptureRelaxed);
    }
    {
      const std::shared_ptr<Stream> adopted = device.adoptStream(stream);
      void* const buffer = rank.memory(64);
      const Error error = errorOf([&] { device.launch(*adopted, *work, std::array<void*, 2>{buffer, buffer}); });
      EXPECT_EQ(error.code(), ErrorCode::Unsupported);
      EXPECT_THAT(error.message(), StartsWith("Allreduce of 4 f32 (sum): its stream is captured"));
    }
    team->requireWhole();
    const CurrentContext current(*device.context());
    driver.capture_end(stream, &graph);
    if (graph != nullptr) driver.graph_destroy(graph);
    driver.stream_destroy(stream);
  });
}

TEST(PeerCopy, AWorkBelongsToOneStream) {
  const FakeSettings settings(kFakeGpus);
  peerJob(2).run([](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(2));
    const auto work = team->prepare(kSumOfFour);
    void* const buffer = rank.memory(64);
    rank.device().synchronize(rank.current());
    if (rank.rank() == 0) {
      const std::shared_ptr<Stream> other = rank.device().createStream();
      const std::array<void*, 2> operands = {buffer, buffer};
      rank.device().launch(team->stream(), *work, operands);
      std::this_thread::sleep_for(milliseconds(20));  // it waits for rank 1
      rank.device().launch(*other, *work, operands);
      EXPECT_THAT(errorOf([&] { rank.device().synchronize(*other); }).message(),
                  HasSubstr("the work runs already, on another stream"));
      rank.communicator().exchange("refused", firstRanks(2), {});
      rank.device().synchronize(team->stream());
    } else {
      rank.communicator().exchange("refused", firstRanks(2), {});
      rank.wait(rank.post(*team, {&kSumOfFour, 1}, {buffer, buffer}));
      rank.device().synchronize(rank.current());
    }
  });
}

// The host of rank 1 has come, its GPU waits for something else: the GPU of rank 0, which waits for it, is released.
TEST(PeerCopy, AGpuThatIsLateIsNamedAndWhoWaitsIsReleased) {
  const FakeSettings settings(kFakeGpus);
  peerJob(2, milliseconds(150)).run([](TestRank& rank) {
    const auto ranks = firstRanks(2);
    const auto team = rank.communicator().team(ranks);
    auto* const flag = static_cast<uint64_t*>(rank.device().allocate(64, MemoryKind::Pinned, rank.current()));
    *flag = 0;
    void* const buffer = rank.memory(64);
    if (rank.rank() == 1) rank.device().waitFlag(rank.current(), flag, 1);
    const Posted posted = rank.post(*team, {&kSumOfFour, 1}, {buffer, buffer});
    const std::string text =
        "rank 1 did not come to Allreduce 0 of team (0 1) within 150 ms; its GPU is at work before it";
    if (rank.rank() == 0) {
      rank.wait(posted);
      const auto begin = std::chrono::steady_clock::now();
      const auto failure = rank.failure();
      EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(2150));
      ASSERT_TRUE(failure.has_value());
      EXPECT_EQ(failure->fault(), CommunicationFault::TimedOut);
      EXPECT_EQ(failure->rank(), 1);
      EXPECT_EQ(failure->message(), text);
    } else {
      for (int i = 0; i < 50; ++i) {  // exchanges end by the time-out, too
        std::this_thread::sleep_for(milliseconds(10));
        if (i == 40) std::atomic_ref(*flag).store(1);
      }
      EXPECT_EQ(failureOf([&] { team->requireWhole(); }).message(), text);
    }
    rank.device().waitDone(*posted.event);
    rank.device().release(flag, 64, MemoryKind::Pinned, rank.current());
  });
}

TEST(PeerCopy, TermsThatAreLongerThanAChunkAreReducedInChunks) {
  const FakeSettings settings(kFakeGpus);
  peerJob(2).run([](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(2));
    const OperationForm form = {
        .kind = Kind::Reduce, .dtype = DataType::F64, .count = (int64_t{5} << 20) / 2 + 1, .root = 1};
    rank.start(*team, operationOf(form, team->ranks()), 3);
    rank.check();
  });
}

TEST(PeerCopy, NothingIsLeftInTheDriver) {
  const FakeSettings settings(kFakeGpus);
  const int64_t before = liveDriverObjects();
  peerJob(3).run([](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(3));
    for (const Kind kind : {Kind::Allreduce, Kind::AllToAll, Kind::Broadcast})
      rank.start(*team, operationOf({.kind = kind, .count = 30}, firstRanks(3)), 1);
    rank.check();
  });
  EXPECT_EQ(liveDriverObjects(), before);
}

TEST(PeerCopy, WithoutACompilerAReductionIsRefused) {
  const ScopedVariable named("TOKAMAK_NVRTC", "/none/libnvrtc.so");
  PeerReductions reductions(fakeContext(), "sm_90a", "");
  const Error error = errorOf([&] { reductions.make(ReductionKind::Sum, DataType::F16, 2, 0, 4); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_THAT(error.message(), StartsWith("a sum of f16 over peer copies is done by a kernel: "));
}

TEST(PeerCopy, TheKernelsOfReductionsCompile) {
  try {
    NvrtcLibrary::search();
  } catch (const Error& error) {
    GTEST_SKIP() << error.message();
  }
  NvrtcCompiler compiler({.architecture = "sm_90a", .extra_flags = {}});
  const auto cubin = compiler.compile(peerReductionSource());
  for (const std::string name : {"reduce_sum_f16", "reduce_prod_bf16", "reduce_max_f32", "reduce_min_f64",
                                 "reduce_sum_i32", "reduce_prod_i64", "reduce_max_bool"})
    EXPECT_THAT(cubin->image, HasSubstr(name));
}

// What one reads, its owner knows to be read; and the pieces fill the output, once.
TEST(PeerCopy, OwnersAndReadersAgreeAndPiecesFillTheOutput) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 400; ++round) {
    const int64_t ranks = 1 + round % 6;
    const Operation operation = operationOf(randomForm(random, ranks), firstRanks(ranks));
    std::vector<PeerReads> reads;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const CommunicationRequest& request = operation.requests[static_cast<size_t>(rank)];
      const CommunicationOperands operands = operandsOf(request, operation.team, rank);
      reads.push_back(peerReads(request, operands, operation.team, static_cast<size_t>(rank)));
      const int64_t output = operands.counts.output;
      std::vector<int> filled(static_cast<size_t>(output));
      for (const PeerPiece& piece : reads.back().pieces)
        for (int64_t i = 0; i < piece.count; ++i) ++filled.at(static_cast<size_t>(piece.to + i));
      const bool is_reduced = isReducing(request.kind) && ranks > 1;
      EXPECT_EQ(std::ranges::count(filled, 1), is_reduced ? 0 : output) << describe(request) << " on rank " << rank;
    }
    for (size_t a = 0; a < reads.size(); ++a)
      for (size_t b = 0; b < reads.size(); ++b)
        EXPECT_EQ(std::ranges::count(reads[a].owners, b), std::ranges::count(reads[b].readers, a))
            << describe(operation.requests[a]) << ": rank " << a << " reads of rank " << b;
  }
}

TEST(PeerCopy, NothingBeginsWhenTheRankHasLeft) {
  const FakeSettings settings(kFakeGpus);
  const auto bootstraps = threadBootstraps(1, std::chrono::seconds(5));
  PeerJob job(*bootstraps[0], openFakeDevice(), {});
  const auto table = job.table(firstRanks(1), 0);
  PeerRun run;
  PeerRun::Item& item = run.items.emplace_back();
  item.channel = &table->collectives();
  item.arrival = std::make_shared<const SocketArrival>(
      SocketArrival{.request = {.kind = Kind::Broadcast, .counts = {3}, .root = 0}});
  table->begin(run);
  table->end(run);
  job.sockets().leave();
  job.endLeaving();
  EXPECT_EQ(failureOf([&] { table->begin(run); }).message(), "rank 0 left the job");
}

// Under as_processes.py alone, on the driver without a GPU: each round has memory of its own.
TEST(PeerProcesses, MemoryThatIsFreedIsClosedByOthers) {
  if (std::getenv("TOKAMAK_TEST_PEER_FAKE") == nullptr) GTEST_SKIP() << "ranks are no processes on the fake driver";
  TestJob job(peerTransportCases()[0].make(2, std::chrono::seconds(20)));
  job.run([&](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(2));
    std::vector<int64_t> counts;
    for (int round = 0; round < 12; ++round) {
      {
        TestRank own(rank.communicator());
        for (uint64_t seed = 0; seed < 3; ++seed)
          own.start(*team, operationOf({.kind = Kind::Allgather, .count = 100000 + 100000 * round}, firstRanks(2)),
                    seed);
        own.check();
      }
      static_cast<CudaDevice&>(rank.device()).trimMemory();
      rank.communicator().exchange("round", firstRanks(2), {});
      counts.push_back(liveDriverObjects());
    }
    EXPECT_LE(counts.back(), counts[4] + 3);
  });
}

// Ends this process at a moment that the seed says.
std::jthread killer(unsigned seed) {
  return std::jthread([seed] {
    constexpr unsigned kLatest = 30'000;  // microseconds: some hundred operations
    std::this_thread::sleep_for(std::chrono::microseconds(std::minstd_rand(seed * 1009)() % kLatest));
    std::raise(SIGKILL);
  });
}

// Under as_processes.py alone: the last rank kills its process among operations, or where $TOKAMAK_DEATH_SEED says; the
// others go on without it.
TEST(PeerProcesses, SurvivorsOfARankThatIsKilledGoOn) {
  const char* const where = std::getenv("TOKAMAK_TEST_PEER");
  if (where == nullptr || std::string(where) != "processes") GTEST_SKIP() << "ranks are no processes here";
  const int64_t size = tcpBootstrapFromEnvironment().size;
  if (size < 2) GTEST_SKIP() << "one rank has no survivors";
  TestJob job(peerTransportCases()[0].make(size, std::chrono::seconds(20)));
  job.run([&](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(size));
    void* const buffer = rank.memory(4000);
    const CommunicationRequest sum = {.kind = Kind::Allreduce, .counts = {1000}};
    const int64_t victim = size - 1;
    std::optional<CommunicationError> failure;
    std::chrono::steady_clock::time_point begin;
    const char* const seed_of_death = std::getenv("TOKAMAK_DEATH_SEED");
    std::jthread death;
    if (seed_of_death != nullptr && rank.rank() == victim) death = killer(std::stoi(seed_of_death));
    for (int i = 0; !failure; ++i) {
      if (seed_of_death == nullptr && rank.rank() == victim && i == 40) std::raise(SIGKILL);
      begin = std::chrono::steady_clock::now();
      failure = rank.failureOfPost(*team, {&sum, 1}, {buffer, buffer});
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(2000));
    EXPECT_EQ(failure->fault(), CommunicationFault::Died);
    EXPECT_EQ(failure->rank(), victim);
    EXPECT_THAT(failure->message(), HasSubstr(" died"));
    const std::vector<int64_t> alive = rank.communicator().alive(firstRanks(size));
    EXPECT_EQ(alive, firstRanks(victim));
    const auto rest = rank.communicator().team(alive);
    for (uint64_t seed = 0; seed < 5; ++seed) rank.start(*rest, operationOf({.count = 50}, alive), seed);
    rank.check();
  });
}

}  // namespace

}  // namespace tokamak
