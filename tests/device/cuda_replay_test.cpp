// A plan's steps on the CUDA device, replayed with other addresses, parameters and streams: on the fake driver, and
// where there is a GPU, there.
#include "device/replay.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <future>
#include <numeric>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "fake_cuda.h"
#include "jit/jit_device.h"
#include "jit/open_device.h"
#include "toolchain/nvrtc.h"

namespace tokamak {

namespace {

using ReplayAction = ReplayStep::Action;

constexpr int64_t kCount = 32;
constexpr int64_t kRowBytes = kCount * 8;

// What the fake driver has built in.
constexpr const char* kStepSource = R"(
extern "C" __global__ void add_one(const double* in, double* out, long long count) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[i] + 1;
}
extern "C" __global__ void store_2(long long* out, long long a) { out[7] = a; }
extern "C" __global__ void store_4(long long* out, long long a, long long b, long long c) {
  out[7] = a;
  out[8] = b;
  out[9] = c;
}
)";
constexpr const char* kStepImage =
    "fake module\nadd_one add_one 8 8 8\nstore_2 store_arguments 8 8\nstore_4 store_arguments 8 8 8 8\n";

// base 1 = base 0 + 1 on the caller's stream, base 2 = base 1 + 1 and base 3 = base 2 + 1 on a worker that waits and is
// waited for.
ReplaySteps chainOf(const CudaWork& work) {
  ReplaySteps list{.stream_count = 2, .event_count = 2, .base_count = 4};
  const auto launch = [&](int32_t stream, int32_t from, int32_t to) {
    list.steps.push_back({.action = ReplayAction::Launch,
                          .stream = stream,
                          .first_slot = static_cast<uint32_t>(list.slots.size()),
                          .slot_count = 2,
                          .work = &work});
    list.slots.push_back({from, 0});
    list.slots.push_back({to, 0});
  };
  launch(0, 0, 1);
  list.steps.push_back({.action = ReplayAction::Record, .stream = 0, .event = 0});
  list.steps.push_back({.action = ReplayAction::Wait, .stream = 1, .event = 0});
  launch(1, 1, 2);
  launch(1, 2, 3);
  list.steps.push_back({.action = ReplayAction::Record, .stream = 1, .event = 1});
  list.steps.push_back({.action = ReplayAction::Wait, .stream = 0, .event = 1});
  return list;
}

class CudaReplayTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string image = kStepImage;
    if (isFake()) {
      device_ = openFakeDevice();
    } else {
      if (const std::string reason = reasonForNoCuda(); !reason.empty()) GTEST_SKIP() << reason;
      device_ = std::make_unique<JitCudaDevice>(0);
      const CudaProperties& gpu = device_->cudaProperties();
      NvrtcCompiler compiler({.architecture = fmt::format("sm_{}{}", gpu.capability_major, gpu.capability_minor)});
      image = compiler.compile(kStepSource)->image;
    }
    module_ = CudaModule::load(device_->context(), image);
    stream_ = device_->createStream();
    worker_ = device_->createStream();
  }
  static bool isFake() { return std::string(GetParam()) == "cuda_fake"; }
  // How many graphs the fake driver launched, kernels it changed; 0 on a GPU, which does not say.
  static int64_t launchedGraphs() { return isFake() ? graphLaunches() : 0; }
  static int64_t changedKernels() { return isFake() ? graphUpdates() : 0; }
  static int64_t onFake(int64_t count) { return isFake() ? count : 0; }

  CudaFunction function(const char* name) { return module_->function(name); }

  // out = in + 1, doubles.
  std::unique_ptr<CudaKernelWork> addOne() {
    return std::make_unique<CudaKernelWork>(function("add_one"), CudaLaunch{.block = {kCount, 1, 1}}, 2,
                                            std::vector<uint64_t>{kCount}, "add one");
  }

  void* allocate() { return device_->allocate(kRowBytes, MemoryKind::Device, *stream_); }
  void release(void* address) { device_->release(address, kRowBytes, MemoryKind::Device, *stream_); }
  void write(void* address, double value) {
    const std::vector<double> values(kCount, value);
    device_->copy(*stream_, address, values.data(), kRowBytes);
    device_->synchronize(*stream_);
  }
  std::vector<double> read(const void* address) {
    std::vector<double> values(kCount);
    device_->copy(*stream_, values.data(), address, kRowBytes);
    device_->synchronize(*stream_);
    return values;
  }
  static std::vector<double> all(double value) { return std::vector<double>(kCount, value); }
  std::array<int64_t, kCount> readIntegers(const void* address) {
    std::array<int64_t, kCount> integers = {};
    std::memcpy(integers.data(), read(address).data(), kRowBytes);
    return integers;
  }

  // The plan of chainOf with blocks of memory, of which 1 and 2 are between; a call takes any of the others.
  struct Chain {
    std::unique_ptr<CudaKernelWork> work;
    std::unique_ptr<Replay> replay;
    std::vector<void*> memory;
  };
  Chain chainWith(size_t blocks) {
    Chain chain{.work = addOne(), .replay = nullptr, .memory = {}};
    chain.replay = device_->prepareReplay(chainOf(*chain.work));
    for (size_t i = 0; i < blocks; ++i) chain.memory.push_back(allocate());
    return chain;
  }
  void call(const Chain& chain, size_t in, size_t out, Stream& stream) {
    const std::vector<void*>& memory = chain.memory;
    chain.replay->run(std::array{&stream, worker_.get()}, std::array{memory[in], memory[1], memory[2], memory[out]},
                      {});
  }
  void call(const Chain& chain, size_t in, size_t out) { call(chain, in, out, *stream_); }
  void release(const Chain& chain) {
    for (void* block : chain.memory) release(block);
  }

  std::unique_ptr<CudaDevice> device_;
  std::shared_ptr<const CudaModule> module_;
  std::shared_ptr<Stream> stream_;
  std::shared_ptr<Stream> worker_;
};

TEST_P(CudaReplayTest, ChangedAddressesArePatchedAndOthersStay) {
  const Chain chain = chainWith(6);
  const std::vector<void*>& memory = chain.memory;
  write(memory[0], 1);
  write(memory[4], 100);
  for (int round = 0; round < 3; ++round) {
    call(chain, 0, 3);
    EXPECT_EQ(read(memory[3]), all(4));
    // Another input, another output.
    call(chain, 4, 5);
    EXPECT_EQ(read(memory[5]), all(103));
    EXPECT_EQ(read(memory[3]), all(4));
    // The caller's stream is another one.
    const auto other = device_->createStream();
    device_->fill(*other, memory[3], 0, kRowBytes);
    call(chain, 0, 3, *other);
    device_->synchronize(*other);
    EXPECT_EQ(read(memory[3]), all(4));
  }
  release(chain);
}

TEST_P(CudaReplayTest, ParametersAndOffsetsAreThoseOfTheCall) {
  const CudaKernelWork work(function("store_4"), {}, 3, {77}, "store");
  ReplaySteps list{.steps = {{.action = ReplayAction::Launch, .first_slot = 0, .slot_count = 3, .work = &work},
                             {.action = ReplayAction::Fill, .first_slot = 3, .slot_count = 1, .bytes = 16}},
                   .slots = {{0, 0}, {1, 24}, {ReplaySlot::kParameter, 1}, {1, 8}},
                   .base_count = 2,
                   .parameter_count = 2};
  const auto replay = device_->prepareReplay(std::move(list));
  void* const out = allocate();
  void* const other = allocate();
  const std::array<Stream*, 1> streams = {stream_.get()};
  for (int64_t round = 0; round < 4; ++round) {
    write(other, 5);
    const std::array<void*, 2> parameters = {nullptr, std::bit_cast<void*>(int64_t{40 + round})};
    replay->run(streams, std::array{out, other}, parameters);
    const std::array<int64_t, kCount> stored = readIntegers(out);
    EXPECT_EQ(stored[7], reinterpret_cast<int64_t>(other) + 24);
    EXPECT_EQ(stored[8], 40 + round);
    EXPECT_EQ(stored[9], 77);
    const std::vector<double> filled = read(other);
    EXPECT_EQ(std::vector(filled.begin(), filled.begin() + 4), (std::vector<double>{5, 0, 0, 5}));
  }
  release(out);
  release(other);
}

TEST_P(CudaReplayTest, WorkBehindACallbackWaitsForItWithTheAddressesOfItsCall) {
  const Chain chain = chainWith(6);
  const std::vector<void*>& memory = chain.memory;
  write(memory[0], 1);
  write(memory[4], 10);
  write(memory[3], 0);
  std::promise<void> opened;
  device_->callback(*stream_, [&] { opened.get_future().wait(); });
  call(chain, 0, 3);
  call(chain, 4, 5);
  opened.set_value();
  device_->synchronize(*stream_);
  EXPECT_EQ(read(memory[3]), all(4));
  EXPECT_EQ(read(memory[5]), all(13));
  release(chain);
}

TEST_P(CudaReplayTest, APlanOfSeveralLaunchesIsAGraphFromItsSecondCallOn) {
  const Chain chain = chainWith(8);
  const std::vector<void*>& memory = chain.memory;
  write(memory[0], 1);
  write(memory[4], 100);
  const int64_t launches = launchedGraphs();
  const int64_t updates = changedKernels();
  call(chain, 0, 3);
  EXPECT_EQ(launchedGraphs() - launches, 0);
  call(chain, 0, 3);
  EXPECT_EQ(launchedGraphs() - launches, onFake(1));
  EXPECT_EQ(read(memory[3]), all(4));
  call(chain, 0, 3);
  EXPECT_EQ(changedKernels() - updates, 0);
  // What the caller holds of earlier calls stays, though the calls are not waited for.
  call(chain, 4, 5);
  EXPECT_EQ(changedKernels() - updates, onFake(2));  // the first kernel's input and the last one's output
  call(chain, 0, 6);
  call(chain, 4, 7);
  EXPECT_EQ(launchedGraphs() - launches, onFake(5));
  EXPECT_EQ(read(memory[3]), all(4));
  EXPECT_EQ(read(memory[5]), all(103));
  EXPECT_EQ(read(memory[6]), all(4));
  EXPECT_EQ(read(memory[7]), all(103));
  release(chain);
}

TEST_P(CudaReplayTest, OneLaunchIsNoGraphAndADeviceMayHaveNone) {
  const auto work = addOne();
  void* const in = allocate();
  void* const out = allocate();
  write(in, 1);
  const int64_t launches = launchedGraphs();
  const auto replay = device_->prepareReplay(
      {.steps = {{.slot_count = 2, .work = work.get()}}, .slots = {{0, 0}, {1, 0}}, .base_count = 2});
  for (int i = 0; i < 3; ++i) replay->run(std::array<Stream*, 1>{stream_.get()}, std::array{in, out}, {});
  EXPECT_EQ(read(out), all(2));
  release(in);
  release(out);
  if (!isFake()) return;
  const auto without = openFakeDevice({.uses_graphs = false});
  const auto a = without->createStream();
  const auto b = without->createStream();
  const CudaKernelWork nothing(
      CudaModule::load(without->context(), "fake module\nkernel nothing 8 8\n")->function("kernel"), {}, 2, {}, "");
  const auto chain = without->prepareReplay(chainOf(nothing));
  const std::array<void*, 4> nowhere = {};
  for (int i = 0; i < 3; ++i) chain->run(std::array{a.get(), b.get()}, nowhere, {});
  without->synchronize(*a);
  EXPECT_EQ(launchedGraphs(), launches);
}

TEST_P(CudaReplayTest, ParametersOfAGraphAreThoseOfTheCall) {
  const CudaKernelWork work(function("store_2"), {}, 2, {}, "store");
  ReplaySteps list{
      .steps = {{.first_slot = 0, .slot_count = 2, .work = &work}, {.first_slot = 2, .slot_count = 2, .work = &work}},
      .slots = {{0, 0}, {ReplaySlot::kParameter, 0}, {0, 128}, {ReplaySlot::kParameter, 1}},
      .base_count = 1,
      .parameter_count = 2};
  const auto replay = device_->prepareReplay(std::move(list));
  void* const out = allocate();
  const int64_t launches = launchedGraphs();
  for (int64_t round = 0; round < 6; ++round) {
    const std::array<void*, 2> parameters = {std::bit_cast<void*>(int64_t{7}), std::bit_cast<void*>(40 + round)};
    replay->run(std::array<Stream*, 1>{stream_.get()}, std::array{out}, parameters);
    const std::array<int64_t, kCount> stored = readIntegers(out);
    EXPECT_EQ(stored[7], 7);
    EXPECT_EQ(stored[16 + 7], 40 + round);
  }
  EXPECT_EQ(launchedGraphs() - launches, onFake(5));
  release(out);
}

TEST_P(CudaReplayTest, WhatCannotBeAGraphIsIssuedStepByStep) {
  const auto work = addOne();
  std::vector<double> host(kCount);
  void* const in = allocate();
  void* const out = allocate();
  write(in, 1);
  // A fill of pageable memory is the host's.
  ReplaySteps list{.steps = {{.slot_count = 2, .work = work.get()},
                             {.first_slot = 2, .slot_count = 2, .work = work.get()},
                             {.action = ReplayAction::Fill, .first_slot = 4, .slot_count = 1, .bytes = kRowBytes}},
                   .slots = {{0, 0}, {1, 0}, {1, 0}, {1, 0}, {2, 0}},
                   .base_count = 3};
  const auto replay = device_->prepareReplay(std::move(list));
  const int64_t launches = launchedGraphs();
  for (int i = 0; i < 3; ++i) {
    std::ranges::fill(host, 9.0);
    replay->run(std::array<Stream*, 1>{stream_.get()}, std::array<void*, 3>{in, out, host.data()}, {});
    EXPECT_EQ(read(out), all(3));
    EXPECT_EQ(host, all(0));
  }
  EXPECT_EQ(launchedGraphs(), launches);
  release(in);
  release(out);
}

TEST_P(CudaReplayTest, AGraphBehindACallbackIsIssuedStepByStepAndInOrder) {
  const Chain chain = chainWith(6);
  const std::vector<void*>& memory = chain.memory;
  write(memory[0], 1);
  write(memory[4], 10);
  for (int round = 0; round < 20; ++round) {
    call(chain, 0, 3);
    call(chain, 4, 5);
    device_->fill(*stream_, memory[3], 0, kRowBytes);
    std::promise<void> opened;
    device_->callback(*stream_, [&] { opened.get_future().wait(); });
    call(chain, 0, 3);
    call(chain, 4, 5);
    opened.set_value();
    device_->synchronize(*stream_);
    call(chain, 4, 5);
    EXPECT_EQ(read(memory[3]), all(4));
    EXPECT_EQ(read(memory[5]), all(13));
  }
  release(chain);
}

TEST(CudaReplayFaults, AGraphThatFailsIsATypedErrorAndTheNextCallWorks) {
  const FakeSettings asked("fail=cuGraphLaunch:304:2 fail=cuStreamEndCapture:901:2");
  const auto before = liveDriverObjects();
  {
    const auto device = openFakeDevice();
    const auto stream = device->createStream();
    const auto worker = device->createStream();
    const CudaKernelWork nothing(
        CudaModule::load(device->context(), "fake module\nkernel nothing 8 8\n")->function("kernel"), {}, 2, {}, "");
    const std::array<void*, 4> nowhere = {};
    const std::array<Stream*, 2> streams = {stream.get(), worker.get()};
    const auto replay = device->prepareReplay(chainOf(nothing));
    replay->run(streams, nowhere, {});
    replay->run(streams, nowhere, {});
    const Error error = errorOf([&] { replay->run(streams, nowhere, {}); });
    EXPECT_EQ(error.code(), ErrorCode::Device);
    EXPECT_EQ(error.message(), "cuda:0: launching a graph of 7 steps: the driver reports error 304");
    replay->run(streams, nowhere, {});
    device->synchronize(*stream);
    // The second capture fails: that plan does without.
    const int64_t launches = graphLaunches();
    const auto other = device->prepareReplay(chainOf(nothing));
    for (int i = 0; i < 3; ++i) other->run(streams, nowhere, {});
    device->synchronize(*stream);
    EXPECT_EQ(graphLaunches(), launches);
  }
  EXPECT_EQ(liveDriverObjects(), before);
}

TEST(ReplayErrors, ADeviceThatRecordsNoStreamsSaysSo) {
  struct Recording final : Capture {
    void keep(std::shared_ptr<void> /*used*/) override {}
  };
  JitCpuDevice device({.threads = 1});
  const auto stream = device.createStream();
  EXPECT_EQ(device.joinCapture(*stream), nullptr);
  Recording recording;
  EXPECT_EQ(errorOf([&] { device.prepareReplay({})->runInto(recording, *stream, {}, {}); }).message(),
            "recording a plan: this device records no streams");
}

INSTANTIATE_TEST_SUITE_P(Drivers, CudaReplayTest, testing::Values("cuda", "cuda_fake"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace

}  // namespace tokamak
