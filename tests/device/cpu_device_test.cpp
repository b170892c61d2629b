// What the CPU device promises beyond the conformance suite.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <latch>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>

#include "base/error.h"
#include "error_of.h"
#include "runtime/cpu/block_pool.h"
#include "runtime/cpu/cpu_device.h"

namespace tokamak {

namespace {

TEST(CpuDevice, FreshMemoryIsPoisonedWithNotANumber) {
  CpuDevice device({.poisons_memory = true});
  const auto stream = device.createStream();
  for (int round = 0; round < 2; ++round) {  // the second time the memory comes from the cache
    void* const memory = device.allocate(800, MemoryKind::Device, *stream);
    device.synchronize(*stream);
    const auto* const values = static_cast<const double*>(memory);
    EXPECT_TRUE(std::all_of(values, values + 100, [](double value) { return std::isnan(value); }));
    device.fill(*stream, memory, 0, 800);
    device.release(memory, 800, MemoryKind::Device, *stream);
  }
}

// A stack of 128 TiB, more addresses than a process has left: no thread can be started.
class NoFurtherThreads {
 public:
  NoFurtherThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, size_t{1} << 47U);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  NoFurtherThreads(const NoFurtherThreads&) = delete;
  NoFurtherThreads& operator=(const NoFurtherThreads&) = delete;
  ~NoFurtherThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }

 private:
  pthread_attr_t before_;
};

TEST(CpuDevice, WithoutFurtherThreadsThoseThereAreRunBlocks) {
  const NoFurtherThreads scope;
  BlockPool pool(4);
  std::atomic<int64_t> sum = 0;
  testing::internal::CaptureStderr();
  pool.parallelFor(100, [&](int64_t block) { sum += block; });
  EXPECT_EQ(testing::internal::GetCapturedStderr().substr(0, 49), "tokamak: 1 of 4 threads run blocks: no further on");
  EXPECT_EQ(sum, 4950);
}

TEST(CpuDevice, AStreamWithoutAThreadIsAnErrorOfTheDevice) {
  CpuDevice device;
  std::shared_ptr<Stream> before = device.createStream();
  {
    const NoFurtherThreads scope;
    const Error error = errorOf([&] { device.createStream(); });
    EXPECT_EQ(error.code(), ErrorCode::Device);
    EXPECT_EQ(error.message().substr(0, 39), "cpu stream: no thread can be started: R");
  }
  device.synchronize(*before);
  device.synchronize(*device.createStream());
}

TEST(CpuDevice, TheMemoryLimitCountsAllKindsAndTheCacheMakesRoom) {
  CpuDevice device({.memory_limit = 1 << 20});
  const auto stream = device.createStream();
  constexpr int64_t kHalf = 512 * 1024;
  void* const a = device.allocate(kHalf, MemoryKind::Device, *stream);
  void* const b = device.allocate(kHalf, MemoryKind::Host, *stream);
  EXPECT_THROW(device.allocate(1, MemoryKind::Pinned, *stream), Error);
  device.callback(*stream, [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
  device.release(a, kHalf, MemoryKind::Device, *stream);
  // The cached block is of another kind and still in use by the stream: this waits, then gives it back.
  void* const c = device.allocate(1000, MemoryKind::Pinned, *stream);
  EXPECT_EQ(device.memoryStatistics(MemoryKind::Device).bytes_reserved, 0);
  device.release(b, kHalf, MemoryKind::Host, *stream);
  device.release(c, 1000, MemoryKind::Pinned, *stream);
  device.synchronize(*stream);
  device.trimMemory();
  for (const MemoryKind kind : kAllMemoryKinds) EXPECT_EQ(device.memoryStatistics(kind).bytes_reserved, 0);
}

TEST(CpuDevice, ARequestOfTheWholeLimitIsServed) {
  CpuDevice device({.memory_limit = 1'000'001});
  const auto stream = device.createStream();
  void* const all = device.allocate(1'000'001, MemoryKind::Device, *stream);
  device.release(all, 1'000'001, MemoryKind::Device, *stream);
}

TEST(CpuDevice, BadOptionsAreRefused) {
  EXPECT_THROW(CpuDevice({.threads = -1}), Error);
  EXPECT_THROW(CpuDevice({.memory_limit = -1}), Error);
  EXPECT_THROW(CpuDevice({.ring_bytes = 1000}), Error);
  EXPECT_THROW(CpuDevice({.ring_bytes = 128}), Error);
}

TEST(CpuDevice, ACallbackThatOverfillsItsOwnStreamIsATypedError) {
  CpuDevice device({.ring_bytes = 1024});
  const auto stream = device.createStream();
  device.callback(*stream, [&] {
    for (int i = 0; i < 1000; ++i) device.callback(*stream, [] {});
  });
  try {
    device.synchronize(*stream);
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Device);
  }
}

class CountAddresses final : public CpuWork {
 public:
  explicit CountAddresses(size_t count) : count_(count) {}
  void run(void* const* addresses, BlockPool& /*pool*/) const override {
    for (size_t i = 0; i < count_; ++i) ++*static_cast<int64_t*>(addresses[i]);
  }

 private:
  size_t count_;
};

TEST(CpuDevice, MoreOperandsThanTheRingHoldsStillRun) {
  CpuDevice device({.ring_bytes = 4096});
  const auto stream = device.createStream();
  std::vector<int64_t> values(3000);
  std::vector<void*> addresses;
  for (int64_t& value : values) addresses.push_back(&value);
  const CountAddresses work(values.size());
  for (int i = 0; i < 3; ++i) device.launch(*stream, work, addresses);
  device.synchronize(*stream);
  EXPECT_EQ(values, std::vector<int64_t>(3000, 3));
}

class FailingWork final : public CpuWork {
 public:
  void run(void* const* /*addresses*/, BlockPool& pool) const override {
    pool.parallelFor(1000, [](int64_t block) {
      if (block == 500) throw std::runtime_error("block 500");
    });
  }
};

TEST(CpuDevice, AnExceptionOutOfABlockIsAFailureOfTheStream) {
  CpuDevice device({.threads = 4});
  const auto stream = device.createStream();
  const FailingWork work;
  device.launch(*stream, work, {});
  EXPECT_THROW(device.synchronize(*stream), std::runtime_error);
}

TEST(CpuDevice, AStreamThatIsDestroyedHasRunItsWork) {
  CpuDevice device;
  std::atomic<int> runs = 0;
  for (int i = 0; i < 50; ++i) {
    const auto stream = device.createStream();
    for (int j = 0; j < 10; ++j) device.callback(*stream, [&] { ++runs; });
  }
  EXPECT_EQ(runs, 500);
}

// Counts how often it ran, and keeps why it did not.
class CountedWork final : public CpuWork {
 public:
  void run(void* const* /*addresses*/, BlockPool& /*pool*/) const override { ++runs; }
  void skip(const std::exception_ptr& cause) const noexcept override { causes.push_back(cause); }

  mutable int runs = 0;
  mutable std::vector<std::exception_ptr> causes;
};

std::string textOfCause(const std::exception_ptr& cause) {
  try {
    std::rethrow_exception(cause);
  } catch (const std::exception& error) {
    return error.what();
  }
}

TEST(CpuDevice, WorkThatIsSkippedIsToldWhy) {
  for (const size_t operands : {1, 10'000}) {  // so many are not kept in the stream's queue
    CpuDevice device;
    const auto stream = device.createStream();
    const CountedWork work;
    const std::vector<void*> addresses(operands);
    device.launch(*stream, work, addresses);
    device.callback(*stream, [] { throw std::runtime_error("a fault of the test"); });
    device.launch(*stream, work, addresses);
    device.launch(*stream, work, addresses);
    EXPECT_THROW(device.synchronize(*stream), std::runtime_error);
    device.launch(*stream, work, addresses);
    device.synchronize(*stream);
    EXPECT_EQ(work.runs, 2);
    ASSERT_EQ(work.causes.size(), 2U);
    EXPECT_EQ(textOfCause(work.causes[1]), "a fault of the test");
  }
}

TEST(CpuDevice, WorkThatAGuestOfTheStreamSkipsIsToldWhy) {
  class RaisingWork final : public CpuWork {
   public:
    void run(void* const* /*addresses*/, BlockPool& /*pool*/) const override { throw std::runtime_error("at once"); }
  };
  CpuDevice device;
  const auto stream = device.createStream();
  const RaisingWork failing;
  const CountedWork work;
  ASSERT_TRUE(device.tryEnterStream(*stream));
  device.launch(*stream, failing, {});
  device.launch(*stream, work, {});
  device.leaveStream(*stream);
  EXPECT_THROW(device.synchronize(*stream), std::runtime_error);
  EXPECT_EQ(work.runs, 0);
  ASSERT_EQ(work.causes.size(), 1U);
  EXPECT_EQ(textOfCause(work.causes[0]), "at once");
}

TEST(BlockPool, EveryBlockRunsOnce) {
  for (const int64_t threads : {1, 2, 5}) {
    BlockPool pool(threads);
    for (const int64_t blocks : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(blocks));
      pool.parallelFor(blocks, [&](int64_t block) { ++runs[static_cast<size_t>(block)]; });
      EXPECT_TRUE(std::ranges::all_of(runs, [](const auto& count) { return count == 1; }));
    }
  }
}

TEST(BlockPool, ManyCallersShareOnePool) {
  BlockPool pool(3);
  std::atomic<int64_t> total = 0;
  {
    std::vector<std::jthread> callers;
    for (int c = 0; c < 4; ++c) {
      callers.emplace_back([&] {
        for (int i = 0; i < 500; ++i) {
          std::atomic<int64_t> mine = 0;
          pool.parallelFor(64, [&](int64_t block) { mine += block; });
          EXPECT_EQ(mine, 64 * 63 / 2);
          total += mine;
        }
      });
    }
  }
  EXPECT_EQ(total, int64_t{4} * 500 * 64 * 63 / 2);
}

TEST(BlockPool, ThePoolsThreadsTakePart) {
  BlockPool pool(3);
  std::latch all(3);  // three blocks can only meet when three threads run them
  pool.parallelFor(3, [&](int64_t /*block*/) { all.arrive_and_wait(); });
  EXPECT_TRUE(all.try_wait());
}

TEST(BlockPool, CallsMayNest) {
  BlockPool pool(3);
  std::atomic<int64_t> runs = 0;
  pool.parallelFor(20, [&](int64_t) { pool.parallelFor(20, [&](int64_t) { ++runs; }); });
  EXPECT_EQ(runs, 400);
}

TEST(CpuDevice, ATimelineHasATrackPerStreamAndAnArrowPerWait) {
  Timeline timeline;
  CpuDevice device({.trace = &timeline});
  {
    const auto a = device.createStream();
    const auto b = device.createStream();
    const auto event = device.createEvent();
    device.callback(*a, [] {});
    device.record(*event, *a);
    device.wait(*b, *event);
    device.wait(*b, *event);
    device.synchronize(*b);
  }
  const std::string json = timeline.json();
  const auto count = [&](std::string_view text) {
    int found = 0;
    for (size_t at = json.find(text); at != std::string::npos; at = json.find(text, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("\"thread_name\""), 2);
  EXPECT_EQ(count("\"ph\":\"s\""), 2);
  EXPECT_EQ(count("\"ph\":\"f\""), 2);
  EXPECT_EQ(count("\"name\":\"callback\""), 1);
}

}  // namespace

}  // namespace tokamak
