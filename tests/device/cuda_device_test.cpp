// What the CUDA device promises beyond the conformance suite, on the fake driver.
#include <array>
#include <atomic>
#include <bit>
#include <functional>
#include <future>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "device/tensor_copies.h"
#include "fake_cuda.h"

namespace tokamak {

namespace {

constexpr const char* kImage =
    "fake module\n"
    "store store_arguments 8 8 8 4 1\n"
    "add_one add_one 8 8 8\n";

class CudaDeviceTest : public testing::Test {
 protected:
  CudaFunction function(const char* name) { return CudaModule::load(device_->context(), kImage)->function(name); }

  template <class T>
  std::vector<T> read(const void* address, size_t count) {
    std::vector<T> values(count);
    device_->copy(*stream_, values.data(), address, static_cast<int64_t>(count * sizeof(T)));
    device_->synchronize(*stream_);
    return values;
  }

  std::unique_ptr<CudaDevice> device_ = openFakeDevice();
  std::shared_ptr<Stream> stream_ = device_->createStream();
};

ErrorCode codeOf(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was raised";
  return ErrorCode::Internal;
}

TEST_F(CudaDeviceTest, PropertiesSayWhatSchedulesNeed) {
  EXPECT_EQ(device_->properties().name, "cuda:0");
  EXPECT_EQ(device_->properties().description, "Fake GPU");
  EXPECT_FALSE(device_->properties().host_reads_device_memory);
  const CudaProperties& gpu = device_->cudaProperties();
  EXPECT_EQ(gpu.capability_major, 9);
  EXPECT_EQ(gpu.multiprocessors, 4);
  EXPECT_EQ(gpu.shared_bytes_per_block_optin, 232448);
  EXPECT_TRUE(gpu.has_clusters);
}

TEST_F(CudaDeviceTest, AKernelGetsAddressesThenParametersThenScalars) {
  const CudaLaunch launch = {.grid = {2, 3, 4}, .block = {32, 2, 1}, .shared_bytes = 100000};
  // The kernel's last two arguments have 4 bytes and 1 byte.
  const CudaKernelWork work(function("store"), launch, 3, {0x1'0000'0007ULL, 0x0101}, "store");
  void* const out = device_->allocate(800, MemoryKind::Device, *stream_);
  for (int64_t round = 0; round < 2; ++round) {
    std::array<void*, 3> addresses = {out, std::bit_cast<void*>(int64_t{11 + round}),
                                      std::bit_cast<void*>(int64_t{-5})};
    device_->launch(*stream_, work, addresses);
    addresses = {};
    EXPECT_EQ(read<int64_t>(out, 11), (std::vector<int64_t>{2, 3, 4, 32, 2, 1, 100000, 11 + round, -5, 7, 1}));
  }
  device_->release(out, 800, MemoryKind::Device, *stream_);
}

TEST_F(CudaDeviceTest, ALaunchThatWaitsItsTurnKeepsItsAddresses) {
  const CudaKernelWork work(function("store"), {}, 3, {1, 2}, "store");
  void* const out = device_->allocate(800, MemoryKind::Device, *stream_);
  std::promise<void> opened;
  device_->callback(*stream_, [&] { opened.get_future().wait(); });
  std::array<void*, 3> addresses = {out, std::bit_cast<void*>(int64_t{7}), nullptr};
  device_->launch(*stream_, work, addresses);
  addresses = {};
  opened.set_value();
  EXPECT_EQ(read<int64_t>(out, 8)[7], 7);
  device_->release(out, 800, MemoryKind::Device, *stream_);
}

TEST_F(CudaDeviceTest, ManyArgumentsAreMoreThanTheStackHolds) {
  std::string image = "fake module\nstore store_arguments";
  for (int i = 0; i < 701; ++i) image += " 8";
  std::vector<uint64_t> scalars(700);
  std::iota(scalars.begin(), scalars.end(), 0);
  const CudaKernelWork work(CudaModule::load(device_->context(), image)->function("store"), {}, 1, scalars, "store");
  void* const out = device_->allocate(8000, MemoryKind::Device, *stream_);
  const std::array<void*, 1> addresses = {out};
  device_->launch(*stream_, work, addresses);
  EXPECT_EQ(read<int64_t>(out, 707)[706], 699);
  device_->release(out, 8000, MemoryKind::Device, *stream_);
}

TEST_F(CudaDeviceTest, AGridWithoutBlocksIsNotLaunched) {
  const CudaKernelWork work(function("add_one"), {.grid = {0, 1, 1}}, 2, {0}, "nothing");
  const std::array<void*, 2> addresses = {};
  device_->launch(*stream_, work, addresses);
  device_->synchronize(*stream_);
}

TEST_F(CudaDeviceTest, LaunchesThatNoDeviceTakesAreRefused) {
  const auto make = [&](const CudaLaunch& launch) { CudaKernelWork(function("add_one"), launch, 2, {0}, "add_one"); };
  EXPECT_EQ(codeOf([&] { make({.grid = {1, 70000, 1}}); }), ErrorCode::Unsupported);
  EXPECT_EQ(codeOf([&] { make({.grid = {-1, 1, 1}}); }), ErrorCode::Unsupported);
  EXPECT_EQ(codeOf([&] { make({.block = {0, 1, 1}}); }), ErrorCode::Unsupported);
  EXPECT_EQ(codeOf([&] { make({.shared_bytes = 300000}); }), ErrorCode::Device);
  make({.cluster = {16, 1, 1}, .is_cooperative = true, .may_overlap_previous = true});
  // 32 x 64 threads are a matter of the device: the launch says so.
  const CudaKernelWork large(function("add_one"), {.block = {32, 64, 1}}, 2, {0}, "add_one");
  const std::array<void*, 2> addresses = {};
  EXPECT_EQ(codeOf([&] { device_->launch(*stream_, large, addresses); }), ErrorCode::Device);
}

TEST_F(CudaDeviceTest, ASmallerLaunchDoesNotTakeSharedMemoryFromALargerOne) {
  const CudaFunction store = function("store");
  const CudaKernelWork large(store, {.shared_bytes = 100000}, 3, {1, 2}, "large");
  const CudaKernelWork small(store, {.shared_bytes = 60000}, 3, {1, 2}, "small");
  void* const out = device_->allocate(800, MemoryKind::Device, *stream_);
  const std::array<void*, 3> addresses = {out, nullptr, nullptr};
  device_->launch(*stream_, large, addresses);
  EXPECT_EQ(read<int64_t>(out, 7)[6], 100000);
  device_->release(out, 800, MemoryKind::Device, *stream_);
}

TEST_F(CudaDeviceTest, CodeThatCannotBeLoadedIsACompileError) {
  EXPECT_EQ(codeOf([&] { CudaModule::load(device_->context(), "no module"); }), ErrorCode::Compile);
  EXPECT_EQ(codeOf([&] { function("none"); }), ErrorCode::Compile);
  EXPECT_EQ(function("store").resources.registers, 40);
  EXPECT_EQ(function("store").resources.static_shared_bytes, 128);
}

TEST_F(CudaDeviceTest, WhatStandsBehindAFailedCallbackIsNotLaunched) {
  auto* const memory = static_cast<double*>(device_->allocate(16, MemoryKind::Device, *stream_));
  device_->fill(*stream_, memory, 0, 16);
  const CudaKernelWork work(function("add_one"), {.block = {2, 1, 1}}, 2, {2}, "add one");
  const std::array<void*, 2> addresses = {memory, memory};
  const auto other = device_->createStream();
  const auto event = device_->createEvent();
  device_->launch(*stream_, work, addresses);
  device_->callback(*stream_, [] { throw std::runtime_error("first"); });
  device_->launch(*stream_, work, addresses);
  device_->record(*event, *stream_);
  device_->wait(*other, *event);
  device_->launch(*other, work, addresses);
  EXPECT_THROW(device_->synchronize(*other), std::runtime_error);
  device_->launch(*other, work, addresses);
  device_->synchronize(*other);
  EXPECT_THROW(device_->synchronize(*stream_), SkippedError);
  EXPECT_EQ(read<double>(memory, 2), (std::vector<double>{2, 2}));
  device_->release(memory, 16, MemoryKind::Device, *stream_);
}

TEST_F(CudaDeviceTest, FlagsInMemoryThatTheDeviceReachesAreItsOwnMatter) {
  const auto other = device_->createStream();
  for (const MemoryKind kind : {MemoryKind::Device, MemoryKind::Pinned}) {
    auto* const flag = static_cast<uint64_t*>(device_->allocate(8, kind, *stream_));
    device_->fill(*stream_, flag, 0, 8);
    device_->synchronize(*stream_);
    device_->waitFlag(*other, flag, 5);
    std::atomic<bool> has_run = false;
    device_->callback(*other, [&] { has_run = true; });
    device_->writeFlag(*stream_, flag, 4);
    device_->synchronize(*stream_);
    EXPECT_FALSE(has_run);
    device_->writeFlag(*stream_, flag, 5);
    device_->synchronize(*other);
    EXPECT_TRUE(has_run);
    device_->release(flag, 8, kind, *stream_);
  }
  alignas(8) std::array<char, 16> bytes = {};
  auto* const crooked = reinterpret_cast<uint64_t*>(bytes.data() + 4);
  EXPECT_EQ(codeOf([&] { device_->writeFlag(*stream_, crooked, 1); }), ErrorCode::Usage);
  EXPECT_EQ(codeOf([&] { device_->waitFlag(*stream_, nullptr, 1); }), ErrorCode::Usage);
}

TEST_F(CudaDeviceTest, PageableMemoryIsFilledInStreamOrder) {
  std::vector<unsigned char> host(1000, 1);
  void* const memory = device_->allocate(1000, MemoryKind::Device, *stream_);
  device_->fill(*stream_, memory, 7, 1000);
  device_->fill(*stream_, host.data(), 9, 1000);
  device_->copy(*stream_, host.data(), memory, 500);
  device_->synchronize(*stream_);
  EXPECT_EQ(host[0], 7);
  EXPECT_EQ(host[999], 9);
  device_->release(memory, 1000, MemoryKind::Device, *stream_);
}

TEST_F(CudaDeviceTest, ACallersContextComesBack) {
  const FakeSettings asked("devices=2");
  const auto second = openFakeDevice({}, 1);
  const DriverLibrary& driver = device_->context()->driver();
  const auto presentContext = [&] {
    driver::Context context = nullptr;
    driver.context_get(&context);
    return context;
  };
  std::jthread([&] {
    EXPECT_EQ(presentContext(), nullptr);
    device_->synchronize(*device_->createStream());
    const driver::Context first = presentContext();
    EXPECT_NE(first, nullptr);  // kept
    second->synchronize(*second->createStream());
    EXPECT_EQ(presentContext(), first);
  }).join();
}

TEST_F(CudaDeviceTest, MemoryOfABusyStreamIsLeftAloneUntilItIsDone) {
  const auto other = device_->createStream();
  auto* const flag = static_cast<uint64_t*>(device_->allocate(8, MemoryKind::Pinned, *stream_));
  *flag = 0;
  void* const memory = device_->allocate(100000, MemoryKind::Device, *stream_);
  device_->waitFlag(*stream_, flag, 1);  // the device itself is busy, no callback
  device_->fill(*stream_, memory, 0, 100000);
  device_->release(memory, 100000, MemoryKind::Device, *stream_);
  void* const during = device_->allocate(100000, MemoryKind::Device, *other);
  EXPECT_NE(during, memory);
  std::atomic_ref(*flag).store(1);
  device_->synchronize(*stream_);
  void* const after = device_->allocate(100000, MemoryKind::Device, *other);
  EXPECT_EQ(after, memory);
  for (void* const block : {during, after}) device_->release(block, 100000, MemoryKind::Device, *other);
  device_->release(flag, 8, MemoryKind::Pinned, *stream_);
}

TEST_F(CudaDeviceTest, ManyThreadsMayUseStreamsThatWaitForEachOther) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 200;
  const CudaKernelWork work(function("add_one"), {.block = {16, 1, 1}}, 2, {16}, "add one");
  auto* const total = static_cast<double*>(device_->allocate(128, MemoryKind::Device, *stream_));
  device_->fill(*stream_, total, 0, 128);
  device_->synchronize(*stream_);
  const auto event = device_->createEvent();
  std::mutex turn;  // what one stream does to the sum is ordered after the event, and the event after it
  std::atomic<int> callbacks = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const auto stream = device_->createStream();
      const std::array<void*, 2> addresses = {total, total};
      for (int round = 0; round < kRounds; ++round) {
        void* const scratch = device_->allocate(1000 + t * 100, MemoryKind::Device, *stream);
        device_->fill(*stream, scratch, 1, 1000);
        {
          const std::lock_guard lock(turn);
          device_->wait(*stream, *event);
          device_->launch(*stream, work, addresses);
          if (round % 7 == t) device_->callback(*stream, [&] { ++callbacks; });
          device_->record(*event, *stream);
        }
        device_->release(scratch, 1000 + t * 100, MemoryKind::Device, *stream);
        if (round % 50 == 0) device_->synchronize(*stream);
      }
      device_->synchronize(*stream);
    });
  }
  threads.clear();
  EXPECT_EQ(callbacks, 29 + 29 + 29 + 29);
  EXPECT_EQ(read<double>(total, 16), std::vector<double>(16, kThreads * kRounds));
  device_->release(total, 128, MemoryKind::Device, *stream_);
}

TEST(CudaDevice, NothingIsLeftInTheDriver) {
  const int64_t before = liveDriverObjects();
  {
    const auto device = openFakeDevice();
    const auto a = device->createStream();
    const auto b = device->createStream();
    const auto event = device->createEvent();
    device->callback(*a, [] {});
    for (int i = 0; i < 10; ++i) {
      device->record(*event, *a);
      device->wait(*b, *event);
    }
    for (const MemoryKind kind : kAllMemoryKinds) device->release(device->allocate(100, kind, *a), 100, kind, *a);
    static_cast<void>(CudaModule::load(device->context(), kImage)->function("store"));
    EXPECT_GT(liveDriverObjects(), before);
  }
  EXPECT_EQ(liveDriverObjects(), before);
}

TEST(TensorCopies, StridesStayOnTheWayToTheDeviceAndBack) {
  const auto device = openFakeDevice({.poisons_memory = true});
  const std::shared_ptr<Stream> stream = device->createStream();
  std::vector<float> values(24);
  std::iota(values.begin(), values.end(), 0.0F);
  const std::array<int64_t, 2> sizes = {3, 2};
  for (const std::array<int64_t, 2>& strides : {std::array<int64_t, 2>{8, 3}, {2, 1}, {-8, 1}, {0, 1}, {1, -2}}) {
    float* const first = values.data() + (strides[0] < 0 ? 16 : strides[1] < 0 ? 2 : 0);
    const Tensor host = Tensor::borrow(*device, first, DataType::F32, sizes, strides, MemoryKind::Host);
    const Tensor there = toDevice(host, *device, stream, MemoryKind::Device);
    EXPECT_EQ(there.kind(), MemoryKind::Device);
    const Tensor back = toHost(there, stream);
    EXPECT_EQ(back.kind(), MemoryKind::Host);
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 2; ++j) {
        const int64_t at = i * strides[0] + j * strides[1];
        EXPECT_EQ(static_cast<const float*>(back.hostData())[at], first[at]);
      }
    }
  }
}

TEST(TensorCopies, WhatIsInPlaceIsNotCopied) {
  const auto device = openFakeDevice();
  const std::shared_ptr<Stream> stream = device->createStream();
  const std::array<int64_t, 1> sizes = {0};
  const Tensor host = Tensor::emptyOnHost(*device, stream, DataType::F32, sizes);
  EXPECT_EQ(toHost(host, stream).data(), host.data());
  const Tensor there = toDevice(host, *device, stream, MemoryKind::Device);
  EXPECT_EQ(toDevice(there, *device, stream, MemoryKind::Device).data(), there.data());
  EXPECT_EQ(toHost(there, stream).numel(), 0);
}

}  // namespace

}  // namespace tokamak
