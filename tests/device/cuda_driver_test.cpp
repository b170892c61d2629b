// What is said when there is no CUDA device, and what when one fails.
#include <array>
#include <atomic>
#include <future>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "error_of.h"
#include "fake_cuda.h"
#include "jit/open_device.h"

namespace tokamak {

namespace {

using testing::HasSubstr;
using testing::StartsWith;

void expectNoDevice(const std::string& settings, const std::string& message) {
  const FakeSettings asked(settings);
  const Error error = errorOf([] { openFakeDevice(); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_THAT(error.message(), HasSubstr(message));
}

TEST(NoCuda, ADriverThatIsNotThereIsNamed) {
  const Error error = errorOf([] { openCudaDevice(0, {.driver = "/none/libcuda.so.1"}); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_THAT(error.message(), StartsWith("the CUDA driver '/none/libcuda.so.1' cannot be loaded: "));
}

TEST(NoCuda, WithoutADriverTheReasonSaysWhatWasSearched) {
  const std::string reason = reasonForNoCuda();
  if (reason.empty() || !reason.starts_with("there is no CUDA driver")) GTEST_SKIP() << "this machine has a driver";
  EXPECT_THAT(reason, HasSubstr("(searched: libcuda.so.1, "));
  EXPECT_THAT(reason, HasSubstr("/usr/lib/wsl/lib/libcuda.so.1"));
  EXPECT_EQ(countCudaDevices(), 0);
}

TEST(NoCuda, TheEnvironmentMayNameTheDriver) {
  {
    const ScopedVariable named("TOKAMAK_CUDA_DRIVER", TOKAMAK_FAKE_DRIVER);
    const FakeSettings asked("devices=2");
    EXPECT_EQ(reasonForNoCuda(), "");
    EXPECT_EQ(countCudaDevices(), 2);
    EXPECT_EQ(openCudaDevice(1)->properties().name, "cuda:1");
  }
  const ScopedVariable named("TOKAMAK_CUDA_DRIVER", "libm.so.6");
  EXPECT_THAT(reasonForNoCuda(), HasSubstr("is no CUDA driver of version 12.0 or later: it has no cuDriverGetVersion"));
}

TEST(NoCuda, AnOldDriverIsNamedWithItsVersion) {
  expectNoDevice("version=11080", "supports CUDA 11.8; 12.0 or later is needed");
}

TEST(NoCuda, ADriverThatDoesNotStartIsQuoted) {
  expectNoDevice("fail=cuInit:100",
                 "the CUDA driver does not start: CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected");
}

TEST(NoCuda, ADriverWithoutDevices) {
  expectNoDevice("devices=0", "the CUDA driver sees no device");
  expectNoDevice("fail=cuDeviceGetCount:999", "the CUDA driver does not count its devices: error 999");
}

TEST(NoCuda, ADeviceThatLacksWhatIsNeeded) {
  expectNoDevice("lacks=122", "cuda:0: it lacks unified addresses or 64-bit stream memory operations");
}

TEST(NoCuda, ANumberThatNoDeviceHas) {
  const Error error = errorOf([] { openFakeDevice({}, 5); });
  EXPECT_EQ(error.code(), ErrorCode::Usage);
  EXPECT_EQ(error.message(), "cuda:5: there is no such device; legal are 0 <= number < 1");
}

TEST(NoCuda, ABadLimitIsRefused) {
  EXPECT_EQ(errorOf([] { openFakeDevice({.memory_limit = -1}); }).code(), ErrorCode::Usage);
}

TEST(CudaMemory, OutOfMemoryNamesTheRequestAndTheNextOneWorks) {
  const FakeSettings asked("memory=1000000");
  const auto device = openFakeDevice();
  const auto stream = device->createStream();
  void* const a = device->allocate(600000, MemoryKind::Device, *stream);
  const Error error = errorOf([&] { device->allocate(500000, MemoryKind::Device, *stream); });
  EXPECT_EQ(error.code(), ErrorCode::OutOfMemory);
  EXPECT_THAT(error.message(), StartsWith("allocate: 500000 bytes of device memory were asked for while "));
  EXPECT_THAT(error.message(), testing::EndsWith("; 1 blocks are in use, the largest of [600000 (device)] bytes"));
  device->release(a, 600000, MemoryKind::Device, *stream);
  // Another size: the cached block has to be given back first.
  void* const b = device->allocate(800000, MemoryKind::Device, *stream);
  device->release(b, 800000, MemoryKind::Device, *stream);
}

TEST(CudaMemory, ADriverThatHasLessThanItSaidIsTrimmedForAndThenATypedError) {
  const auto before = liveDriverObjects();
  {
    const FakeSettings asked("fail=cuMemAlloc_v2:2:2 fail=cuMemAlloc_v2:2:3");
    const auto device = openFakeDevice();
    const auto stream = device->createStream();
    device->release(device->allocate(1000, MemoryKind::Device, *stream), 1000, MemoryKind::Device, *stream);
    // The second request fails, the cache is given back, the third one fails, too.
    EXPECT_EQ(errorOf([&] { device->allocate(5000, MemoryKind::Device, *stream); }).code(), ErrorCode::OutOfMemory);
    EXPECT_EQ(device->memoryStatistics(MemoryKind::Device).bytes_reserved, 0);
    device->release(device->allocate(5000, MemoryKind::Device, *stream), 5000, MemoryKind::Device, *stream);
  }
  EXPECT_EQ(liveDriverObjects(), before);
}

TEST(CudaMemory, WhatIsNoMemoryShortageIsAFault) {
  const FakeSettings asked("fail=cuMemHostAlloc:304");
  const auto device = openFakeDevice();
  const auto stream = device->createStream();
  const Error error = errorOf([&] { device->allocate(64, MemoryKind::Pinned, *stream); });
  EXPECT_EQ(error.code(), ErrorCode::Device);
  EXPECT_EQ(error.message(), "cuda:0: 256 bytes of pinned memory: the driver reports error 304");
}

TEST(CudaFaults, AStreamThatFindsNoMemoryIsOutOfMemory) {
  // Also when the cache was given back.
  const FakeSettings asked("fail=cuStreamCreate:2 fail=cuStreamCreate:2:2");
  const auto device = openFakeDevice();
  const Error error = errorOf([&] { device->createStream(); });
  EXPECT_EQ(error.code(), ErrorCode::OutOfMemory);
  EXPECT_EQ(error.message(),
            "cuda:0: creating a stream: the driver reports CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
  device->synchronize(*device->createStream());
}

TEST(CudaFaults, WhatFindsNoMemoryIsTriedAgainWithoutTheCache) {
  const FakeSettings asked("fail=cuStreamCreate:2:2 fail=cuModuleLoadData:2");
  const auto device = openFakeDevice();
  const auto stream = device->createStream();
  device->release(device->allocate(1000, MemoryKind::Device, *stream), 1000, MemoryKind::Device, *stream);
  EXPECT_GT(device->memoryStatistics(MemoryKind::Device).bytes_reserved, 0);
  const auto other = device->createStream();
  EXPECT_EQ(device->memoryStatistics(MemoryKind::Device).bytes_reserved, 0);
  static_cast<void>(CudaModule::load(device->context(), "fake module\nnothing nothing\n"));
}

TEST(CudaFaults, AnAddressThatIsNobodysIsNamed) {
  const auto device = openFakeDevice();
  const auto stream = device->createStream();
  void* const memory = device->allocate(64, MemoryKind::Device, *stream);
  device->release(memory, 64, MemoryKind::Device, *stream);
  device->trimMemory();
  std::array<char, 64> host = {};
  const Error error = errorOf([&] { device->copy(*stream, host.data(), memory, 64); });
  EXPECT_EQ(error.code(), ErrorCode::Device);
  EXPECT_THAT(error.message(),
              testing::MatchesRegex("cuda:0: copying 64 bytes from 0x[0-9a-f]+ to 0x[0-9a-f]+: "
                                    "the driver reports CUDA_ERROR_INVALID_VALUE \\(1\\): invalid argument"));
  device->synchronize(*stream);  // nothing of it stays
}

TEST(CudaFaults, AFaultOfWorkThatWaitedForItsTurnIsRaisedBySynchronize) {
  const auto device = openFakeDevice();
  const auto stream = device->createStream();
  void* const memory = device->allocate(64, MemoryKind::Device, *stream);
  device->release(memory, 64, MemoryKind::Device, *stream);
  device->trimMemory();
  std::array<char, 64> host = {};
  std::promise<void> opened;
  device->callback(*stream, [&] { opened.get_future().wait(); });
  device->copy(*stream, host.data(), memory, 64);
  opened.set_value();
  const Error error = errorOf([&] { device->synchronize(*stream); });
  EXPECT_THAT(error.message(), StartsWith("cuda:0: copying 64 bytes from "));
  device->synchronize(*stream);
}

TEST(CudaFaults, ALostDeviceNamesTheFirstCauseEverAfter) {
  const auto before = liveDriverObjects();
  {
    const auto device = openFakeDevice();
    const auto stream = device->createStream();
    const auto event = device->createEvent();
    void* const memory = device->allocate(64, MemoryKind::Device, *stream);
    // The kernel waits behind a gate: whichever call comes after its fault is the one that reports it.
    auto* const gate = static_cast<uint64_t*>(device->allocate(sizeof(uint64_t), MemoryKind::Pinned, *stream));
    *gate = 0;
    const CudaKernelWork work(
        CudaModule::load(device->context(), "fake module\nwild illegal_address\n")->function("wild"), {}, 0, {},
        "wild");
    device->waitFlag(*stream, gate, 1);
    device->launch(*stream, work, {});
    device->record(*event, *stream);
    std::atomic_ref(*gate).store(1);
    const Error first = errorOf([&] { device->synchronize(*stream); });
    EXPECT_EQ(first.code(), ErrorCode::Device);
    const std::string cause =
        "cuda:0, stream 0: synchronize: the driver reports CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access "
        "was encountered";
    EXPECT_EQ(first.message(), cause);
    for (int i = 0; i < 2; ++i) {
      const Error later = errorOf([&] { device->fill(*device->createStream(), memory, 0, 64); });
      EXPECT_EQ(later.code(), ErrorCode::Device);
      EXPECT_THAT(later.message(),
                  testing::EndsWith(": cuda:0 is lost for this process; the first cause was: " + cause));
    }
    EXPECT_TRUE(device->isDone(*event));  // nothing runs any more
    bool has_run = false;
    device->callback(*stream, [&] { has_run = true; });
    EXPECT_EQ(errorOf([&] { device->synchronize(*stream); }).code(), ErrorCode::Device);
    EXPECT_FALSE(has_run);
    device->release(memory, 64, MemoryKind::Device, *stream);
    device->release(gate, sizeof(uint64_t), MemoryKind::Pinned, *stream);
  }
  EXPECT_EQ(liveDriverObjects(), before);
}

TEST(CudaFaults, AFlagThatWasToBeWrittenIsWrittenThoughTheDeviceIsLostMeanwhile) {
  const auto device = openFakeDevice();
  const auto stream = device->createStream();
  const CudaKernelWork work(
      CudaModule::load(device->context(), "fake module\nwild illegal_address\n")->function("wild"), {}, 0, {}, "wild");
  alignas(8) uint64_t flag = 0;
  std::promise<void> opened;
  device->callback(*stream, [&] { opened.get_future().wait(); });
  device->launch(*stream, work, {});
  device->writeFlag(*stream, &flag, 1);
  opened.set_value();
  EXPECT_EQ(errorOf([&] { device->synchronize(*stream); }).code(), ErrorCode::Device);
  EXPECT_EQ(flag, 1U);
}

TEST(CudaFaults, NobodyWaitsForAFlagOnALostDevice) {
  const auto device = openFakeDevice();
  const auto stream = device->createStream();
  const auto waiting = device->createStream();
  const CudaKernelWork work(
      CudaModule::load(device->context(), "fake module\nwild illegal_address\n")->function("wild"), {}, 0, {}, "wild");
  void* const memory = device->allocate(64, MemoryKind::Device, *stream);
  alignas(8) uint64_t flag = 0;
  device->waitFlag(*waiting, &flag, 3);
  device->launch(*stream, work, {});
  EXPECT_EQ(errorOf([&] { device->synchronize(*stream); }).code(), ErrorCode::Device);
  EXPECT_THAT(errorOf([&] { device->synchronize(*waiting); }).message(),
              testing::MatchesRegex("waiting for the flag at 0x[0-9a-f]+ to be 3: cuda:0 is lost meanwhile"));
  // What a lost device says of an address means nothing; it is not taken for pageable memory.
  EXPECT_EQ(errorOf([&] { device->fill(*waiting, memory, 0, 64); }).code(), ErrorCode::Device);
  device->release(memory, 64, MemoryKind::Device, *stream);
}

TEST(CudaFaults, AnEventThatCannotBeRecordedLaterStillLetsOthersGoOn) {
  const FakeSettings asked("fail=cuEventRecord:304");
  const auto device = openFakeDevice();
  const auto a = device->createStream();
  const auto b = device->createStream();
  const auto event = device->createEvent();
  device->callback(*a, [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); });
  device->record(*event, *a);
  device->wait(*b, *event);
  EXPECT_EQ(errorOf([&] { device->synchronize(*b); }).message(),
            "cuda:0, stream 0: recording an event: the driver reports error 304");
  device->synchronize(*a);
}

}  // namespace

}  // namespace tokamak
