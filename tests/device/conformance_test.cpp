// What every device promises: stream order, events, callbacks, flags, failures, memory.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <future>
#include <latch>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/require.h"
#include "device_fixture.h"

namespace tokamak {

namespace {

INSTANTIATE_TEST_SUITE_P(Devices, DeviceTest, testing::ValuesIn(deviceCases()),
                         [](const auto& instance) { return instance.param.name; });

// Holds a stream up until it is opened, so that tests decide what has run; opens itself at the end.
class Gate {
 public:
  Gate(Device& device, Stream& stream) {
    device.callback(stream, [opened = opened_.get_future().share()] { opened.wait(); });
  }
  ~Gate() { open(); }
  void open() {
    if (!std::exchange(is_open_, true)) opened_.set_value();
  }

 private:
  std::promise<void> opened_;
  bool is_open_ = false;
};

TEST_P(DeviceTest, PropertiesNameTheDevice) {
  EXPECT_FALSE(device_->properties().name.empty());
  EXPECT_GE(device_->properties().threads, 1);
  EXPECT_GT(device_->properties().memory_bytes, 0);
}

TEST_P(DeviceTest, WorkOfOneStreamRunsInOrder) {
  const auto stream = device_->createStream();
  std::vector<int> seen;
  for (int i = 0; i < 2000; ++i) device_->callback(*stream, [&seen, i] { seen.push_back(i); });
  device_->synchronize(*stream);
  std::vector<int> expected(2000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(seen, expected);
}

TEST_P(DeviceTest, EnqueueReturnsBeforeTheWorkRuns) {
  const auto stream = device_->createStream();
  std::atomic<bool> has_run = false;
  Gate gate(*device_, *stream);
  device_->callback(*stream, [&] { has_run = true; });
  EXPECT_FALSE(has_run);
  gate.open();
  device_->synchronize(*stream);
  EXPECT_TRUE(has_run);
}

TEST_P(DeviceTest, CallbacksOfTwoStreamsMayWaitForEachOther) {
  const auto a = device_->createStream();
  const auto b = device_->createStream();
  std::latch both(2);
  for (Stream* stream : {a.get(), b.get()}) device_->callback(*stream, [&] { both.arrive_and_wait(); });
  device_->synchronize(*a);
  device_->synchronize(*b);
  EXPECT_TRUE(both.try_wait());
}

TEST_P(DeviceTest, SleepsOfTwoStreamsOverlap) {
  const auto a = device_->createStream();
  const auto b = device_->createStream();
  using Clock = std::chrono::steady_clock;
  struct Span {
    Clock::time_point begin, end;
  };
  std::array<Span, 2> spans;
  std::latch both(2);  // each sleep starts once both streams got there, however busy the machine is
  const auto sleep = [&](Span& span) {
    both.arrive_and_wait();
    span.begin = Clock::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    span.end = Clock::now();
  };
  device_->callback(*a, [&] { sleep(spans[0]); });
  device_->callback(*b, [&] { sleep(spans[1]); });
  device_->synchronize(*a);
  device_->synchronize(*b);
  EXPECT_GE(spans[0].end - spans[0].begin, std::chrono::milliseconds(20));
  EXPECT_GE(spans[1].end - spans[1].begin, std::chrono::milliseconds(20));
}

TEST_P(DeviceTest, WaitingForAnEventOrdersTwoStreams) {
  const auto a = device_->createStream();
  const auto b = device_->createStream();
  const auto event = device_->createEvent();
  Gate gate(*device_, *a);
  int value = 0;
  int seen = -1;
  device_->callback(*a, [&] { value = 7; });
  device_->record(*event, *a);
  device_->wait(*b, *event);
  device_->callback(*b, [&] { seen = value; });
  EXPECT_FALSE(device_->isDone(*event));
  gate.open();
  device_->synchronize(*b);
  EXPECT_EQ(seen, 7);
  EXPECT_TRUE(device_->isDone(*event));
}

TEST_P(DeviceTest, AnEventThatWasNeverRecordedIsDone) {
  const auto stream = device_->createStream();
  const auto event = device_->createEvent();
  EXPECT_TRUE(device_->isDone(*event));
  device_->wait(*stream, *event);
  device_->synchronize(*event);
  device_->synchronize(*stream);
}

TEST_P(DeviceTest, RecordingAgainMovesThePointForLaterWaitsOnly) {
  const auto a = device_->createStream();
  const auto early = device_->createStream();
  const auto late = device_->createStream();
  const auto event = device_->createEvent();
  device_->record(*event, *a);
  device_->wait(*early, *event);
  Gate gate(*device_, *a);
  device_->record(*event, *a);
  device_->wait(*late, *event);
  std::atomic<bool> late_has_run = false;
  device_->callback(*late, [&] { late_has_run = true; });
  device_->synchronize(*early);  // would never end if the first wait had moved along
  EXPECT_FALSE(late_has_run);
  EXPECT_FALSE(device_->isDone(*event));
  gate.open();
  device_->synchronize(*late);
  EXPECT_TRUE(late_has_run);
}

TEST_P(DeviceTest, AnEventRecordedOnTwoStreamsStandsForTheLastRecord) {
  const auto blocked = device_->createStream();
  const auto free = device_->createStream();
  const auto waiting = device_->createStream();
  const auto event = device_->createEvent();
  Gate gate(*device_, *blocked);
  device_->record(*event, *blocked);
  device_->wait(*waiting, *event);
  device_->record(*event, *free);
  std::atomic<bool> has_run = false;
  device_->callback(*waiting, [&] { has_run = true; });
  device_->synchronize(*event);
  EXPECT_FALSE(has_run);
  gate.open();
  device_->synchronize(*waiting);
  EXPECT_TRUE(has_run);
}

TEST_P(DeviceTest, EventsAndStreamsMayGoWhileTheirPointIsWaitedFor) {
  const auto b = device_->createStream();
  for (int i = 0; i < 100; ++i) {
    auto a = device_->createStream();
    auto event = device_->createEvent();
    device_->callback(*a, [] {});
    device_->record(*event, *a);
    device_->wait(*b, *event);
    event.reset();
  }
  int runs = 0;
  device_->callback(*b, [&] { ++runs; });
  device_->synchronize(*b);
  EXPECT_EQ(runs, 1);
}

TEST_P(DeviceTest, CopyAndFillRunInStreamOrder) {
  const auto stream = device_->createStream();
  for (const int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{1000}, int64_t{3} << 20}) {
    void* const memory = device_->allocate(bytes, MemoryKind::Device, *stream);
    void* const host = device_->allocate(bytes, MemoryKind::Host, *stream);
    device_->fill(*stream, memory, 0x5A, bytes);
    device_->copy(*stream, host, memory, bytes);
    device_->synchronize(*stream);
    const auto* const read = static_cast<const unsigned char*>(host);
    EXPECT_EQ(std::count(read, read + bytes, 0x5A), bytes);
    device_->release(memory, bytes, MemoryKind::Device, *stream);
    device_->release(host, bytes, MemoryKind::Host, *stream);
  }
}

TEST_P(DeviceTest, NegativeSizesAreRefused) {
  const auto stream = device_->createStream();
  char byte = 0;
  EXPECT_THROW(device_->copy(*stream, &byte, &byte, -1), Error);
  EXPECT_THROW(device_->fill(*stream, &byte, 0, -1), Error);
  EXPECT_THROW(device_->allocate(-1, MemoryKind::Device, *stream), Error);
}

TEST_P(DeviceTest, LaunchRunsWorkWithTheAddressesGiven) {
  if (!GetParam().make_add_one) GTEST_SKIP() << "this device makes no work of its own";
  constexpr int64_t kCount = 1000;
  constexpr int64_t kBytes = kCount * static_cast<int64_t>(sizeof(double));
  const auto stream = device_->createStream();
  const auto work = GetParam().make_add_one(*device_, kCount);
  if (work == nullptr) GTEST_SKIP() << "nothing here compiles for this device";
  std::vector<double> values(kCount, 1.5);
  void* const a = device_->allocate(kBytes, MemoryKind::Device, *stream);
  void* const b = device_->allocate(kBytes, MemoryKind::Device, *stream);
  device_->copy(*stream, a, values.data(), kBytes);
  for (int i = 0; i < 100; ++i) {
    std::array<void*, 2> addresses = {i % 2 == 0 ? a : b, i % 2 == 0 ? b : a};
    device_->launch(*stream, *work, addresses);
    addresses = {nullptr, nullptr};  // they were copied
  }
  device_->copy(*stream, values.data(), a, kBytes);
  device_->synchronize(*stream);
  EXPECT_EQ(values, std::vector<double>(kCount, 101.5));
  device_->release(a, kBytes, MemoryKind::Device, *stream);
  device_->release(b, kBytes, MemoryKind::Device, *stream);
}

TEST_P(DeviceTest, AFlagHoldsAStreamUntilItIsLargeEnough) {
  const auto a = device_->createStream();
  const auto b = device_->createStream();
  alignas(8) uint64_t flag = 0;
  std::atomic<bool> has_run = false;
  device_->waitFlag(*b, &flag, 3);
  device_->callback(*b, [&] { has_run = true; });
  device_->writeFlag(*a, &flag, 2);
  device_->synchronize(*a);
  EXPECT_FALSE(has_run);
  device_->writeFlag(*a, &flag, uint64_t{1} << 40U);
  device_->synchronize(*b);
  EXPECT_TRUE(has_run);
}

TEST_P(DeviceTest, TheHostMayWriteAFlagThatAStreamWaitsFor) {
  const auto stream = device_->createStream();
  alignas(8) uint64_t flag = 0;
  device_->waitFlag(*stream, &flag, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::atomic_ref(flag).store(1);
  device_->synchronize(*stream);
}

TEST_P(DeviceTest, AFailureIsRaisedOnceToEachAndLaterWorkIsSkippedUntilThen) {
  const auto stream = device_->createStream();
  int runs = 0;
  device_->callback(*stream, [&] { ++runs; });
  device_->callback(*stream, [] { TK_RAISE(Device, "step 3 failed"); });
  device_->callback(*stream, [&] { ++runs; });
  device_->callback(*stream, [] { throw std::runtime_error("never reached"); });
  try {
    device_->synchronize(*stream);
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Device);
    EXPECT_EQ(error.message(), "step 3 failed");
  }
  EXPECT_EQ(runs, 1);
  device_->synchronize(*stream);
  device_->callback(*stream, [&] { ++runs; });
  device_->synchronize(*stream);
  EXPECT_EQ(runs, 2);
}

// What was skipped is told by an error of its own, which has the first cause.
void expectSkipped(const std::function<void()>& wait, const std::string& text) {
  try {
    wait();
    ADD_FAILURE() << "nothing was raised";
  } catch (const SkippedError& error) {
    EXPECT_EQ(error.code(), ErrorCode::Device);
    EXPECT_EQ(error.message(), "skipped, or not run to its end, because of an earlier failure: " + text);
    EXPECT_THROW(std::rethrow_exception(error.cause()), std::runtime_error);
  }
}

TEST_P(DeviceTest, AFailureTravelsWithEventsAndEachWhoWaitsIsToldOnce) {
  const auto a = device_->createStream();
  const auto b = device_->createStream();
  const auto c = device_->createStream();
  const auto event = device_->createEvent();
  std::atomic<int> runs = 0;
  device_->callback(*a, [] { throw std::runtime_error("first"); });
  device_->record(*event, *a);
  device_->wait(*b, *event);
  device_->callback(*b, [&] { ++runs; });
  device_->record(*event, *b);
  device_->wait(*c, *event);
  device_->callback(*c, [&] { ++runs; });
  EXPECT_THROW(device_->synchronize(*c), std::runtime_error);
  EXPECT_EQ(runs, 0);
  device_->synchronize(*a);  // of its failure somebody was told, and it skipped nothing
  expectSkipped([&] { device_->synchronize(*b); }, "first");
  expectSkipped([&] { device_->synchronize(*event); }, "first");
  device_->synchronize(*b);
  device_->synchronize(*event);
  for (Stream* stream : {a.get(), b.get(), c.get()}) device_->callback(*stream, [&] { ++runs; });
  for (Stream* stream : {a.get(), b.get(), c.get()}) device_->synchronize(*stream);
  EXPECT_EQ(runs, 3);
}

TEST_P(DeviceTest, SynchronizingAnEventRaisesOnlyWhatFailedBeforeIt) {
  const auto stream = device_->createStream();
  const auto before = device_->createEvent();
  const auto after = device_->createEvent();
  device_->callback(*stream, [] {});
  device_->record(*before, *stream);
  device_->callback(*stream, [] { throw std::runtime_error("between"); });
  device_->record(*after, *stream);
  device_->synchronize(*before);
  EXPECT_THROW(device_->synchronize(*after), std::runtime_error);
  device_->synchronize(*stream);
}

TEST_P(DeviceTest, AWaitThatRunsAfterTheFailureWasRaisedStillSkipsWhatWasIssuedBefore) {
  const auto a = device_->createStream();
  const auto b = device_->createStream();
  const auto event = device_->createEvent();
  int runs = 0;
  {
    Gate gate(*device_, *b);
    device_->callback(*a, [] { throw std::runtime_error("first"); });
    device_->record(*event, *a);
    device_->wait(*b, *event);
    device_->callback(*b, [&] { ++runs; });
    EXPECT_THROW(device_->synchronize(*a), std::runtime_error);
    device_->callback(*a, [] {});
    device_->synchronize(*a);
    device_->callback(*b, [&] { runs += 10; });
  }
  expectSkipped([&] { device_->synchronize(*b); }, "first");
  EXPECT_EQ(runs, 10);
  device_->synchronize(*b);
}

// An event of failed work stands for it whoever was told; one that is recorded when somebody was does not.
TEST_P(DeviceTest, WhoWaitsForFailedWorkLaterIsSkippedToo) {
  const auto a = device_->createStream();
  const auto b = device_->createStream();
  const auto failed = device_->createEvent();
  const auto later = device_->createEvent();
  std::atomic<int> runs = 0;
  device_->callback(*a, [] { throw std::runtime_error("first"); });
  device_->record(*failed, *a);
  EXPECT_THROW(device_->synchronize(*a), std::runtime_error);
  device_->record(*later, *a);
  device_->wait(*b, *later);
  device_->waitOver(*b, *failed);
  device_->callback(*b, [&] { ++runs; });
  device_->synchronize(*b);
  EXPECT_EQ(runs, 1);
  device_->wait(*b, *failed);
  device_->callback(*b, [&] { ++runs; });
  device_->takeFailure(*a, *failed);
  device_->callback(*a, [&] { ++runs; });
  for (Stream* stream : {a.get(), b.get()}) expectSkipped([&] { device_->synchronize(*stream); }, "first");
  EXPECT_NE(device_->failureOf(*failed), nullptr);
  EXPECT_EQ(device_->failureOf(*later), nullptr);
  EXPECT_EQ(runs, 1);
  for (Stream* stream : {a.get(), b.get()}) device_->callback(*stream, [&] { ++runs; });
  for (Stream* stream : {a.get(), b.get()}) device_->synchronize(*stream);
  EXPECT_EQ(runs, 3);
}

// However many failures nobody asked for.
TEST_P(DeviceTest, NoFailureIsForgotten) {
  const auto stream = device_->createStream();
  std::vector<std::unique_ptr<Event>> events;
  constexpr int kFailures = 200;
  for (int i = 0; i < kFailures; ++i) {
    device_->callback(*stream, [] { throw std::runtime_error("one of many"); });
    device_->record(*events.emplace_back(device_->createEvent()), *stream);
    device_->startAnew(*stream);
    device_->callback(*stream, [] {});
    device_->record(*events.emplace_back(device_->createEvent()), *stream);
  }
  for (size_t i = 0; i < events.size(); i += 2) {
    EXPECT_THROW(device_->synchronize(*events[i]), std::runtime_error) << i;
    device_->synchronize(*events[i + 1]);
  }
}

TEST_P(DeviceTest, AFailureOutlivesItsStreamWhereSomebodyWaitedForIt) {
  auto a = device_->createStream();
  const auto b = device_->createStream();
  const auto event = device_->createEvent();
  device_->callback(*a, [] { throw std::runtime_error("first"); });
  device_->record(*event, *a);
  a.reset();
  device_->wait(*b, *event);
  const auto reused = device_->createStream();
  int runs = 0;
  device_->callback(*reused, [&] { ++runs; });
  device_->synchronize(*reused);
  EXPECT_EQ(runs, 1);
  EXPECT_THROW(device_->synchronize(*b), std::runtime_error);
}

TEST_P(DeviceTest, AFailedStreamStillWritesItsFlags) {
  const auto a = device_->createStream();
  const auto b = device_->createStream();
  alignas(8) uint64_t flag = 0;
  device_->callback(*a, [] { throw std::runtime_error("first"); });
  device_->writeFlag(*a, &flag, 1);
  device_->waitFlag(*b, &flag, 1);
  device_->synchronize(*b);
  EXPECT_THROW(device_->synchronize(*a), std::runtime_error);
}

TEST_P(DeviceTest, WhatACallbackHoldsIsLetGoOnceAlsoWhenItIsSkipped) {
  const auto stream = device_->createStream();
  const auto token = std::make_shared<int>(0);
  device_->callback(*stream, [token] { throw std::runtime_error("first"); });
  device_->callback(*stream, [token] { ++*token; });
  EXPECT_THROW(device_->synchronize(*stream), std::runtime_error);
  EXPECT_EQ(*token, 0);
  EXPECT_EQ(token.use_count(), 1);
}

TEST_P(DeviceTest, ACallbackMayEnqueueAndMayNotWaitForItself) {
  const auto a = device_->createStream();
  const auto b = device_->createStream();
  std::promise<void> chained;
  device_->callback(*a, [&] {
    device_->callback(*b, [] {});
    device_->synchronize(*b);
    device_->callback(*a, [&] { chained.set_value(); });
  });
  chained.get_future().wait();
  device_->callback(*a, [&] { device_->synchronize(*a); });
  try {
    device_->synchronize(*a);
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Device);
  }
}

TEST_P(DeviceTest, AnEmptyCallbackIsRefused) {
  const auto stream = device_->createStream();
  EXPECT_THROW(device_->callback(*stream, nullptr), Error);
}

TEST_P(DeviceTest, ManyThreadsMayEnqueueOnOneStream) {
  const auto stream = device_->createStream();
  constexpr int kThreads = 4;
  constexpr int kEach = 2000;
  int total = 0;  // only the stream touches it
  std::vector<std::vector<int>> seen(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          device_->callback(*stream, [&, t, i] {
            ++total;
            seen[static_cast<size_t>(t)].push_back(i);
          });
        }
      });
    }
  }
  device_->synchronize(*stream);
  EXPECT_EQ(total, kThreads * kEach);
  for (const auto& order : seen) EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST_P(DeviceTest, RandomChainsOfWaitsKeepTheirOrder) {
  constexpr int kStreams = 4;
  std::vector<std::shared_ptr<Stream>> streams;
  for (int i = 0; i < kStreams; ++i) streams.push_back(device_->createStream());
  const auto event = device_->createEvent();
  int64_t value = 0;  // every step multiplies and adds, so that order shows
  int64_t expected = 0;
  uint32_t random = 1;
  for (int64_t step = 0; step < 3000; ++step) {
    random = random * 1664525U + 1013904223U;
    Stream& stream = *streams[(random >> 16U) % kStreams];
    device_->wait(stream, *event);
    device_->callback(stream, [&value, step] { value = (value * 31 + step) % 1000003; });
    device_->record(*event, stream);
    expected = (expected * 31 + step) % 1000003;
  }
  device_->synchronize(*event);
  EXPECT_EQ(value, expected);
}

TEST_P(DeviceTest, AllocationsAreAlignedDistinctAndCounted) {
  const auto stream = device_->createStream();
  std::vector<std::pair<void*, int64_t>> blocks;
  const int64_t before = device_->memoryStatistics(MemoryKind::Pinned).bytes_in_use;
  int64_t asked = 0;
  for (const int64_t bytes : {0, 0, 1, 255, 256, 257, 4096, 100000}) {
    blocks.emplace_back(device_->allocate(bytes, MemoryKind::Pinned, *stream), bytes);
    EXPECT_NE(blocks.back().first, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks.back().first) % 256, 0U);
    asked += bytes;
  }
  std::ranges::sort(blocks);
  for (size_t i = 1; i < blocks.size(); ++i) {
    EXPECT_GE(static_cast<char*>(blocks[i].first), static_cast<char*>(blocks[i - 1].first) + blocks[i - 1].second);
  }
  const MemoryStatistics during = device_->memoryStatistics(MemoryKind::Pinned);
  EXPECT_EQ(during.bytes_in_use, before + asked);
  EXPECT_GE(during.bytes_reserved, during.bytes_in_use);
  for (const auto& [address, bytes] : blocks) device_->release(address, bytes, MemoryKind::Pinned, *stream);
  EXPECT_EQ(device_->memoryStatistics(MemoryKind::Pinned).bytes_in_use, before);
  EXPECT_GE(device_->memoryStatistics(MemoryKind::Pinned).peak_bytes_in_use, before + asked);
}

TEST_P(DeviceTest, MemoryFreedOnAStreamIsReusedThereAtOnceAndElsewhereOnlyWhenDone) {
  const auto a = device_->createStream();
  const auto b = device_->createStream();
  constexpr int64_t kBytes = 12345;
  void* const first = device_->allocate(kBytes, MemoryKind::Device, *a);
  Gate gate(*device_, *a);
  device_->fill(*a, first, 1, kBytes);
  device_->release(first, kBytes, MemoryKind::Device, *a);
  void* const on_b = device_->allocate(kBytes, MemoryKind::Device, *b);
  EXPECT_NE(on_b, first);
  void* const on_a = device_->allocate(kBytes, MemoryKind::Device, *a);
  EXPECT_EQ(on_a, first);
  device_->release(on_a, kBytes, MemoryKind::Device, *a);
  gate.open();
  device_->synchronize(*a);
  void* const later_on_b = device_->allocate(kBytes, MemoryKind::Device, *b);
  EXPECT_EQ(later_on_b, first);
  device_->release(on_b, kBytes, MemoryKind::Device, *b);
  device_->release(later_on_b, kBytes, MemoryKind::Device, *b);
}

TEST_P(DeviceTest, SteadyStateAsksTheSystemForNothing) {
  const auto stream = device_->createStream();
  int64_t after_first = 0;
  for (int round = 0; round < 100; ++round) {
    std::vector<void*> blocks;
    for (int64_t i = 0; i < 20; ++i) blocks.push_back(device_->allocate(i * 1000, MemoryKind::Device, *stream));
    for (int64_t i = 0; i < 20; ++i) {
      device_->release(blocks[static_cast<size_t>(i)], i * 1000, MemoryKind::Device, *stream);
    }
    if (round == 0) after_first = device_->memoryStatistics(MemoryKind::Device).system_allocations;
  }
  EXPECT_EQ(device_->memoryStatistics(MemoryKind::Device).system_allocations, after_first);
}

TEST_P(DeviceTest, AnImpossibleAllocationIsATypedErrorAndTheNextOneWorks) {
  const auto stream = device_->createStream();
  for (const int64_t bytes :
       {int64_t{1} << 60, std::numeric_limits<int64_t>::max(), device_->properties().memory_bytes + 1}) {
    try {
      device_->allocate(bytes, MemoryKind::Device, *stream);
      FAIL() << bytes << " bytes were served";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::OutOfMemory);
    }
  }
  void* const memory = device_->allocate(100, MemoryKind::Device, *stream);
  device_->release(memory, 100, MemoryKind::Device, *stream);
}

TEST_P(DeviceTest, TheAllocationThatATestNamesFails) {
  if (!GetParam().fail_allocation) GTEST_SKIP() << "this device takes no faults";
  const auto stream = device_->createStream();
  for (int64_t n = 1; n <= 4; ++n) {
    GetParam().fail_allocation(*device_, n);
    for (int64_t i = 1; i <= 5; ++i) {
      if (i == n) {
        EXPECT_THROW(device_->allocate(64, MemoryKind::Device, *stream), Error);
      } else {
        device_->release(device_->allocate(64, MemoryKind::Device, *stream), 64, MemoryKind::Device, *stream);
      }
    }
  }
}

TEST_P(DeviceTest, ReleasingWhatIsNotInUseIsRefused) {
  const auto stream = device_->createStream();
  void* const memory = device_->allocate(100, MemoryKind::Device, *stream);
  EXPECT_THROW(device_->release(memory, 99, MemoryKind::Device, *stream), Error);
  EXPECT_THROW(device_->release(memory, 100, MemoryKind::Host, *stream), Error);
  device_->release(memory, 100, MemoryKind::Device, *stream);
  EXPECT_THROW(device_->release(memory, 100, MemoryKind::Device, *stream), Error);
}

}  // namespace

}  // namespace tokamak
