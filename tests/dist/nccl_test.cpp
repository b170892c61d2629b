// What NCCL's transport promises beyond the suite: its library, what it stages, faults of NCCL, captures.
#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "dist/nccl/nccl_job.h"
#include "dist/nccl/nccl_library.h"
#include "dist/nccl/staged_reduction.h"
#include "error_of.h"
#include "fake_nccl.h"
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

TestJob jobOf(int64_t ranks, milliseconds timeout = std::chrono::seconds(20)) {
  return TestJob(fakeNcclCommunicators(ranks, {.library = {}, .timeout = timeout, .reduction_kernels = {}}));
}

std::string otherNameOf(const std::string& file, const std::string& extra) {
  const size_t end = file.rfind('/');
  return file.substr(0, end) + extra + file.substr(end);
}

TEST(Nccl, ALibraryThatIsNoneIsNamedWithWhatWasSearched) {
  const Error missing = errorOf([] { NcclLibrary::load("/none/libnccl.so.2"); });
  EXPECT_EQ(missing.code(), ErrorCode::Unsupported);
  EXPECT_THAT(missing.message(), HasSubstr("/none/libnccl.so.2"));
  EXPECT_THAT(errorOf([] { NcclLibrary::load("libm.so.6"); }).message(),
              HasSubstr("it lacks functions of NCCL 2.18 or later"));
  const ScopedVariable named("TOKAMAK_NCCL", "/none/of/these.so");
  EXPECT_THAT(errorOf([] { NcclLibrary::load(); }).message(), HasSubstr("/none/of/these.so"));
  EXPECT_EQ(ncclCandidates(), std::vector<std::string>{"/none/of/these.so"});
}

TEST(Nccl, AnOldLibraryIsNamedWithItsVersion) {
  const FakeSettings settings("nccl=21703");
  openFakeDevice();
  EXPECT_THAT(errorOf([] { NcclLibrary::load(otherNameOf(TOKAMAK_FAKE_DRIVER, "/.")); }).message(),
              HasSubstr("is NCCL 2.17; 2.18 or later is needed"));
}

TEST(Nccl, RanksWithOtherVersionsAreRefused) {
  const FakeSettings settings(kFakeGpus);
  const std::vector<std::shared_ptr<Device>> devices = {openFakeDevice({}, 0), openFakeDevice({}, 1)};
  NcclLibrary::load(TOKAMAK_FAKE_DRIVER);
  const std::string other = otherNameOf(TOKAMAK_FAKE_DRIVER, "/./.");
  {
    const FakeSettings newer("nccl=22900");
    openFakeDevice();
    NcclLibrary::load(other);
  }
  const auto bootstraps = threadBootstraps(2, std::chrono::seconds(5));
  const auto failureOn = [&](size_t rank) {
    return failureOf([&] {
      ncclCommunicator(*bootstraps[rank], devices[rank], {.library = rank == 0 ? TOKAMAK_FAKE_DRIVER : other});
    });
  };
  std::thread second([&] { EXPECT_EQ(failureOn(1).fault(), CommunicationFault::Mismatch); });
  const CommunicationError failure = failureOn(0);
  EXPECT_THAT(failure.message(), HasSubstr("with NCCL 23007, and rank 1 has "));
  EXPECT_THAT(failure.message(), HasSubstr("with NCCL 22900; all ranks have to have the same"));
  second.join();
}

TEST(Nccl, CommunicatorsThatCannotBeAreRefused) {
  const auto bootstraps = threadBootstraps(1, std::chrono::seconds(1));
  EXPECT_EQ(
      errorOf([&] { ncclCommunicator(*bootstraps[0], openCpuDevice(), {.library = TOKAMAK_FAKE_DRIVER}); }).message(),
      "NCCL communicator: cpu is no GPU; it is between GPUs");
  EXPECT_EQ(errorOf([&] {
              ncclCommunicator(*bootstraps[0], openCpuDevice(), {.library = {}, .timeout = milliseconds(0)});
            }).message(),
            "NCCL communicator: a time-out of 0 ms was asked for; it has to be positive");
}

// What each rank is told where a function of NCCL fails on one of them.
void expectNcclFault(const std::string& fault, const std::string& message) {
  SCOPED_TRACE(fault);
  const FakeSettings settings(std::string(kFakeGpus) + " fail=" + fault);
  jobOf(2).run([&](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(2));
    const CommunicationRequest sum = {.kind = Kind::Allreduce, .counts = {4}};
    void* const buffer = rank.memory(64);
    bool is_told = false;
    try {
      rank.wait(rank.post(*team, {&sum, 1}, {buffer, buffer}));
      rank.device().synchronize(rank.current());
    } catch (const Error& error) {
      is_told = true;
      EXPECT_THAT(error.message(), HasSubstr(message));
    }
    EXPECT_TRUE(is_told);
    const CommunicationError broken = failureOf([&] { team->requireWhole(); });
    EXPECT_EQ(broken.fault(), CommunicationFault::Failed);
    EXPECT_THAT(broken.message(), HasSubstr(" cannot take part in Allreduce 0 of team (0 1): NCCL cannot "));
    rank.communicator().exchange("seen", firstRanks(2), {});
    const auto again = rank.communicator().team(firstRanks(2));
    EXPECT_EQ(again->epoch(), 1);
    rank.start(*again, operationOf({.count = 20}, firstRanks(2)), 1);
    rank.check();
  });
  EXPECT_EQ(liveNcclCommunicators(), 0);
}

TEST(Nccl, WhatNcclSaysOfAFaultIsToldToAllRanks) {
  const std::string said = "internal error (3): the fake says so";
  expectNcclFault("ncclGetUniqueId:3", "NCCL cannot make an id: internal error (3)");
  expectNcclFault("ncclCommInitRankConfig:3", "NCCL cannot connect: " + said);
  expectNcclFault("ncclGroupStart:3", "NCCL cannot begin a group: " + said);
  expectNcclFault("ncclAllReduce:3", "NCCL cannot Allreduce of 4 f32 (sum): " + said);
  expectNcclFault("ncclGroupEnd:3", "NCCL cannot Allreduce of 4 f32 (sum): " + said);
  expectNcclFault("ncclCommGetAsyncError:3:4", said);
  expectNcclFault("ncclAsync:3", "NCCL cannot communicate: " + said);
  expectNcclFault("ncclAsync:6", "NCCL cannot communicate: remote process exited or there was a network error (6)");
}

TEST(Nccl, TwoRanksOnOneGpuAreAnErrorOfNccl) {
  const FakeSettings settings(kFakeGpus);
  const std::shared_ptr<Device> device = openFakeDevice();
  const auto bootstraps = threadBootstraps(2, std::chrono::seconds(5));
  std::vector<std::unique_ptr<Communicator>> made(2);
  const auto make = [&](size_t rank) {
    made[rank] = ncclCommunicator(*bootstraps[rank], device, {.library = TOKAMAK_FAKE_DRIVER});
  };
  std::thread second([&] { make(1); });
  make(0);
  second.join();
  TestJob(std::move(made)).run([](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(2));
    const CommunicationRequest sum = {.kind = Kind::Allreduce, .counts = {4}};
    void* const buffer = rank.memory(64);
    rank.wait(rank.post(*team, {&sum, 1}, {buffer, buffer}));
    EXPECT_THROW(rank.device().synchronize(rank.current()), Error);
    EXPECT_THAT(failureOf([&] { team->requireWhole(); }).message(),
                HasSubstr("NCCL cannot connect: invalid usage (5)"));
  });
}

TEST(Nccl, ACapturedStreamIsRefused) {
  const FakeSettings settings(kFakeGpus);
  jobOf(1).run([](TestRank& rank) {
    auto& device = static_cast<CudaDevice&>(rank.device());
    const auto team = rank.communicator().team(firstRanks(1));
    const auto work = team->prepare({.kind = Kind::Allreduce, .counts = {4}});
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
      EXPECT_EQ(
          error.message(),
          "Allreduce of 4 f32 (sum): its stream is captured; what waits for other ranks is no part of a graph, so "
          "it has to run outside of the capture");
    }
    team->requireWhole();
    const CurrentContext current(*device.context());
    driver.capture_end(stream, &graph);
    if (graph != nullptr) driver.graph_destroy(graph);
    driver.stream_destroy(stream);
  });
}

TEST(Nccl, AWorkBelongsToOneStream) {
  const FakeSettings settings(kFakeGpus);
  jobOf(2).run([](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(2));
    const auto work = team->prepare({.kind = Kind::Allreduce, .counts = {4}});
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
      const CommunicationRequest sum = {.kind = Kind::Allreduce, .counts = {4}};
      rank.wait(rank.post(*team, {&sum, 1}, {buffer, buffer}));
      rank.device().synchronize(rank.current());
    }
  });
}

TEST(Nccl, ATransferInAGroupMeetsNoneThatIsAlone) {
  const FakeSettings settings(kFakeGpus);
  jobOf(2).run([](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(2));
    void* const buffer = rank.memory(64);
    std::vector<CommunicationRequest> group = {{.kind = Kind::Recv, .counts = {4}, .receive_from = 0}};
    if (rank.rank() == 0)
      group = {{.kind = Kind::Send, .counts = {4}, .send_to = 1}, {.kind = Kind::Send, .counts = {4}, .send_to = 1}};
    std::vector<void*> addresses;
    for (size_t i = 0; i < group.size(); ++i) addresses.insert(addresses.end(), {buffer, buffer});
    const auto failure = rank.failureOfPost(*team, group, addresses);
    ASSERT_TRUE(failure.has_value());
    EXPECT_EQ(failure->fault(), CommunicationFault::Mismatch);
    EXPECT_EQ(failure->message(),
              "transfer 0 from rank 0 to rank 1 of team (0 1) is in a group on rank 0 and in none on rank 1; over NCCL "
              "it is so on both");
  });
}

TEST(Nccl, ARankThatStaysAwayIsNamedAlsoWhereItIsConnectedTo) {
  const FakeSettings settings(kFakeGpus);
  jobOf(3, milliseconds(150)).run([](TestRank& rank) {
    const auto ranks = firstRanks(3);
    const auto team = rank.communicator().team(ranks);
    if (rank.rank() == 2) {
      std::this_thread::sleep_for(milliseconds(400));
      EXPECT_THAT(failureOf([&] { team->requireWhole(); }).message(), StartsWith("rank 2 did not come to Allreduce 0"));
      return;
    }
    const CommunicationRequest sum = {.kind = Kind::Allreduce, .counts = {4}};
    void* const buffer = rank.memory(64);
    const auto failure = rank.failureOfPost(*team, {&sum, 1}, {buffer, buffer});
    ASSERT_TRUE(failure.has_value());
    EXPECT_EQ(failure->message(),
              "rank 2 did not come to Allreduce 0 of team (0 1 2) within 150 ms; it came to none of this team yet");
  });
  EXPECT_EQ(liveNcclCommunicators(), 0);
}

// To rank 0, which sends to itself, the operation is over before anybody waits in it.
TEST(Nccl, ARankThatIsThroughIsNotTakenForOneThatStaysAway) {
  const FakeSettings settings(kFakeGpus);
  jobOf(3, milliseconds(150)).run([](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(3));
    const int64_t peer = rank.rank() == 0 ? 0 : 3 - rank.rank();
    if (rank.rank() == 2) return std::this_thread::sleep_for(milliseconds(300));
    const CommunicationRequest turned = {
        .kind = Kind::CollectivePermute, .counts = {4}, .send_to = peer, .receive_from = peer};
    const auto failure = rank.failureOfPost(*team, {&turned, 1}, {rank.memory(64), rank.memory(64)});
    EXPECT_EQ(failure.has_value(), rank.rank() == 1);
    const std::string text = failure ? failure->message() : "";
    EXPECT_THAT(text, StartsWith(failure ? "rank 2 did not come to CollectivePermute 0 of team (0 1 2)" : ""));
  });
}

TEST(Nccl, WhatNcclReducesOtherwiseIsStaged) {
  using enum ReductionKind;
  EXPECT_EQ(stagedType(Sum, DataType::F16), DataType::F32);
  EXPECT_EQ(stagedType(Prod, DataType::BF16), DataType::F32);
  EXPECT_EQ(stagedType(Sum, DataType::F32), DataType::F32);
  EXPECT_EQ(stagedType(Max, DataType::F32), DataType::I32);
  EXPECT_EQ(stagedType(Min, DataType::F16), DataType::I32);
  EXPECT_EQ(stagedType(Max, DataType::F64), DataType::I64);
  EXPECT_EQ(stagedType(Max, DataType::Bool), DataType::Bool);
  EXPECT_EQ(stagedType(Min, DataType::I64), DataType::I64);
}

TEST(Nccl, WithoutACompilerAStagedReductionIsRefused) {
  const ScopedVariable named("TOKAMAK_NVRTC", "/none/libnvrtc.so");
  const FakeSettings settings(kFakeGpus);
  const auto bootstraps = threadBootstraps(1, std::chrono::seconds(5));
  const auto device = std::shared_ptr<CudaDevice>(openFakeDevice());
  ReductionKernels kernels(device->context(), "sm_90a", "");
  const Error error = errorOf([&] { kernels.stage(ReductionKind::Sum, DataType::F16, 4); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_THAT(error.message(), StartsWith("a sum of f16 over NCCL is staged by a kernel: "));
}

TEST(Nccl, TheKernelsOfStagedReductionsCompile) {
  try {
    NvrtcLibrary::search();
  } catch (const Error& error) {
    GTEST_SKIP() << error.message();
  }
  NvrtcCompiler compiler({.architecture = "sm_90a", .extra_flags = {}});
  const auto cubin = compiler.compile(reductionKernelSource());
  for (const std::string name : {"widen_f16", "widen_bf16", "narrow_f16", "narrow_bf16", "order_max_f16",
                                 "order_min_bf16", "order_max_f32", "order_min_f64", "restore_f16", "restore_f64"})
    EXPECT_THAT(cubin->image, HasSubstr(name));
}

TEST(Nccl, AWorkOfARankThatHasLeftIsRefused) {
  const FakeSettings settings(kFakeGpus);
  const auto bootstraps = threadBootstraps(1, std::chrono::seconds(5));
  const std::shared_ptr<Device> device = openFakeDevice();
  const std::string file = TOKAMAK_FAKE_DRIVER;
  const NcclLibrary& library = NcclLibrary::load(file);
  NcclJob job(*bootstraps[0], library, device, {});
  const auto table = job.table(firstRanks(1), 0);
  NcclRun run;
  run.items.push_back({.channel = &table->collectives(),
                       .arrival = std::make_shared<const SocketArrival>(
                           SocketArrival{.request = {.kind = Kind::Broadcast, .counts = {3}, .root = 0}})});
  job.sockets().leave();
  job.endLeaving();
  EXPECT_EQ(failureOf([&] { table->begin(run); }).message(), "rank 0 left the job");
}

}  // namespace

}  // namespace tokamak
