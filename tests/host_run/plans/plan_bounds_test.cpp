// What an evaluator keeps is bounded: plans by count and bytes, memory of intermediates by the calls under way,
// whatever sizes come.
#include <malloc.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"
#include "host_run/short_chain.h"
#include "runtime/cpu/stream_edges.h"

namespace tokamak {
namespace {

TEST(PlanBounds, KeepThePlansThatWereUsedLast) {
  RunBench bench;
  const auto fusion = fusionOf(kShortChain);
  MultiDeviceExecutor executor(*fusion, bench.device,
                               {.lowering = {.grouping = Grouping::Single}, .evaluator = {.plans = {.plans = 4}}});
  const auto call = [&](int64_t rows) {
    expectAnswer(executor.runWithInput(std::vector<RunValue>{threes(bench, rows, 8)}).at(0));
  };
  for (int64_t rows = 1; rows <= 4; ++rows) call(rows);
  call(1);
  call(5);  // 2 goes
  PlanCacheStatistics now = executor.evaluator().stats().plans;
  EXPECT_EQ(now.plans, 4);
  EXPECT_EQ(now.misses, 5);
  EXPECT_EQ(now.hits, 1);
  EXPECT_EQ(now.evictions, 1);
  EXPECT_GT(now.bytes, 0);
  call(1);
  call(3);
  EXPECT_EQ(executor.evaluator().stats().plans.hits, 3);
  call(2);
  now = executor.evaluator().stats().plans;
  EXPECT_EQ(now.hits, 3);
  EXPECT_EQ(now.evictions, 2);
}

TEST(PlanBounds, CountBytesToo) {
  RunBench bench;
  const auto fusion = fusionOf(kShortChain);
  MultiDeviceExecutor executor(*fusion, bench.device,
                               {.lowering = {.grouping = Grouping::Single}, .evaluator = {.plans = {.bytes = 1}}});
  for (int64_t rows = 1; rows <= 4; ++rows)
    expectAnswer(executor.runWithInput(std::vector<RunValue>{threes(bench, rows, 8)}).at(0));
  EXPECT_EQ(executor.evaluator().stats().plans.plans, 1);
}

TEST(PlanBounds, AreAskedForInPositiveNumbers) {
  RunBench bench;
  const auto fusion = fusionOf(kShortChain);
  EXPECT_EQ(
      errorOf([&] { MultiDeviceExecutor(*fusion, bench.device, {.evaluator = {.calls_in_flight = 0}}); }).message(),
      "0 calls in flight were asked for; 1 to 4096 are legal");
  EXPECT_EQ(
      errorOf([&] { MultiDeviceExecutor(*fusion, bench.device, {.evaluator = {.plans = {.plans = 0}}}); }).message(),
      "0 plans of 67108864 bytes were asked for; both must be positive");
}

// Intermediates of many sizes are one arena per call under way, as large as the largest needs.
TEST(PlanBounds, ShareTheMemoryOfIntermediates) {
  RunBench bench;
  const auto fusion = fusionOf(kShortChain);
  MultiDeviceExecutor executor(*fusion, bench.device,
                               {.lowering = {.grouping = Grouping::Single}, .evaluator = {.calls_in_flight = 2}});
  int64_t largest = 0;
  for (int64_t rows = 1; rows <= 64; ++rows) {
    const std::vector<RunValue> inputs = {threes(bench, rows, 128)};
    expectAnswer(executor.runWithInput(inputs).at(0));
    largest = std::max(largest, executor.planFor(inputs).summary().arena_bytes);
  }
  const HostIrEvaluatorStatistics now = executor.evaluator().stats();
  EXPECT_LE(now.contexts, 2);
  EXPECT_LE(now.arena_bytes, 2 * largest);
}

// What is allocated: on the heap, in mappings of its own, and by the device.
int64_t allocatedBytes(const Device& device) {
  const auto heap = mallinfo2();
  return static_cast<int64_t>(heap.uordblks + heap.hblkhd) + device.memoryStatistics(MemoryKind::Host).bytes_reserved +
         device.memoryStatistics(MemoryKind::Device).bytes_reserved;
}

// $TOKAMAK_SHAPE_CALLS over 10,000 shapes, or 100,000, in four ways together: what is allocated after the first 1,000
// calls is all there ever is.
TEST(PlanBounds, KeepMemoryFlatOverChangingSizes) {
  if (kThreadSanitizer) GTEST_SKIP() << "its heap is another";
  const char* const given = std::getenv("TOKAMAK_SHAPE_CALLS");
  const int64_t calls = given == nullptr ? 100'000 : std::atoll(given);
  constexpr int64_t kManyShapes = 10'000;
  constexpr int64_t kWarmUp = 1000;
  for (const Grouping grouping : {Grouping::Single, Grouping::Fused}) {
    for (const Mode mode : kModes) {
      const int64_t of_this_way = calls / 10 * (grouping == Grouping::Single && mode == Mode::Plan ? 7 : 1);
      RunBench bench;
      const auto fusion = fusionOf(kShortChain);
      MultiDeviceExecutor executor(*fusion, bench.device,
                                   {.lowering = {.grouping = grouping}, .evaluator = {.mode = mode}});
      int64_t before = 0;
      int64_t most = 0;
      for (int64_t call = 0; call < of_this_way; ++call) {
        // The largest shape is among the first 1,000.
        const int64_t shape = kManyShapes - 1 - call * 7 % kManyShapes;
        executor.runWithInput(std::vector<RunValue>{threes(bench, 1 + shape / 100, 1 + shape % 100)}).at(0).waitReady();
        if (call == kWarmUp) before = allocatedBytes(bench.device);
        if (call > kWarmUp && call % 256 == 0) most = std::max(most, allocatedBytes(bench.device));
      }
      EXPECT_LE(most - before, 1 << 20) << "grouping " << static_cast<int>(grouping) << ", mode "
                                        << static_cast<int>(mode);
      std::cout << fmt::format(
          "[  memory  ] grouping {}, mode {}: {} calls over {} shapes: {} bytes more than after {} calls\n",
          static_cast<int>(grouping), static_cast<int>(mode), of_this_way, kManyShapes, most - before, kWarmUp);
    }
  }
}

// --- calls under way ---

// While one call is kept from running, another one with other sizes, and one with the same, run and end.
TEST(CallsInFlight, DoNotWaitForEachOther) {
  RunBench bench;
  const auto fusion = fusionOf(kShortChain);
  MultiDeviceExecutor executor(*fusion, bench.device, {.lowering = {.grouping = Grouping::Single}});
  const std::shared_ptr<Stream> blocked = bench.device.createStream();
  const std::vector<RunValue> inputs = {threes(bench, 8, 8)};
  const std::vector<RunValue> others = {threes(bench, 8, 8)};
  const std::vector<RunValue> larger = {threes(bench, 16, 8)};
  uint64_t flag = 0;
  bench.device.waitFlag(*blocked, &flag, 1);
  const Tensor late = executor.runWithInput(inputs, {}, blocked).at(0);
  expectAnswer(executor.runWithInput(others).at(0));
  expectAnswer(executor.runWithInput(larger).at(0));
  expectAnswer(executor.runWithInput(inputs).at(0));
  EXPECT_FALSE(bench.device.isDone(*late.readyEvent()));
  bench.device.writeFlag(*bench.stream, &flag, 1);
  expectAnswer(late);
  EXPECT_EQ(executor.evaluator().stats().contexts, 2);
}

TEST(CallsInFlight, BeyondTheirNumberStartAfterOthers) {
  RunBench bench;
  const auto fusion = fusionOf(kShortChain);
  MultiDeviceExecutor executor(*fusion, bench.device,
                               {.lowering = {.grouping = Grouping::Single}, .evaluator = {.calls_in_flight = 1}});
  const std::shared_ptr<Stream> streams[] = {bench.stream, bench.device.createStream(), nullptr};
  std::vector<Tensor> outputs;
  for (int i = 0; i < 30; ++i)
    outputs.push_back(
        executor.runWithInput(std::vector<RunValue>{threes(bench, 8 + i % 3, 64)}, {}, streams[i % 3]).at(0));
  for (const Tensor& output : outputs) expectAnswer(output);
  EXPECT_EQ(executor.evaluator().stats().contexts, 1);
}

TEST(CallsInFlight, OfFourThreadsAndManySizesAreRight) {
  for (const Mode mode : kModes) {
    RunBench bench;
    const auto fusion = fusionOf(kShortChain);
    MultiDeviceExecutor executor(*fusion, bench.device,
                                 {.lowering = {.grouping = Grouping::Single},
                                  .evaluator = {.mode = mode, .plans = {.plans = 3}, .calls_in_flight = 3}});
    const auto work = [&](int64_t thread) {
      const std::shared_ptr<Stream> own = bench.device.createStream();
      const auto input = [&](int64_t rows) {
        const int64_t sizes[] = {rows, 32};
        Tensor made = Tensor::emptyOnHost(bench.device, own, DataType::F32, sizes);
        std::fill_n(static_cast<float*>(made.hostData()), made.numel(), 3.0F);
        return made;
      };
      for (int64_t i = 0; i < 60; ++i)
        expectAnswer(
            executor.runWithInput(std::vector<RunValue>{input(1 + (thread + i) % 7)}, {}, i % 2 == 0 ? own : nullptr)
                .at(0));
    };
    std::vector<std::thread> threads;
    for (int64_t t = 0; t < 4; ++t) threads.emplace_back(work, t);
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(executor.evaluator().stats().contexts, 3);
  }
}

}  // namespace
}  // namespace tokamak
