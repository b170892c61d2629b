// What plans take on the host's heap is counted with their works and replays; that of forgotten ones under way, too.
#include <malloc.h>

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device/work.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"
#include "runtime/cpu/stream_edges.h"

namespace tokamak {
namespace {

const char* const kSumOfProducts =
    "fusion f(T0: f32[i0, i2]) -> T3 { T1 = mul(T0, 2.0) T2 = add(T1, 1.0) T3 = mul(T2, T1) } sizes { i0 = 8, i2 = 8 }";

std::vector<RunValue> inputRows(RunBench& bench, int64_t count) {
  return {bench.numbers(DataType::F32, {count, 8}, std::vector<double>(static_cast<size_t>(count * 8), 3))};
}

TEST(PlanBytes, AreTheStepsTheWorksAndAReplayPerContext) {
  RunBench bench;
  for (const char* const text :
       {kSumOfProducts,
        "fusion f(T0: f32[i0, 8]) -> T1 { T1 = matmul(permute(T0, order=[1, 0]), T0) } sizes { i0 = 8 }"}) {
    for (const Grouping grouping : {Grouping::Single, Grouping::Fused}) {
      SCOPED_TRACE(fmt::format("{}, grouping {}", text, static_cast<int>(grouping)));
      MultiDeviceExecutor executor(*fusionOf(text), bench.device, {.lowering = {.grouping = grouping}});
      const auto bytes = [&] { return executor.evaluator().stats().plans.bytes; };
      const std::vector<RunValue> inputs = inputRows(bench, 8);
      const Plan& plan = executor.planFor(inputs);
      const int64_t recorded = bytes();
      std::set<const Work*> works;
      for (const Step& step : plan.steps().steps) {
        if (step.work != nullptr) works.insert(step.work.get());
      }
      int64_t steps = recorded;
      for (const Work* work : works) {
        EXPECT_GT(work->hostBytes(), 0) << work->name();
        steps -= work->hostBytes();
      }
      EXPECT_GT(steps, 0);
      // A call that is kept from running has a context, and the next one another.
      uint64_t flag = 0;
      const std::shared_ptr<Stream> blocked = bench.device.createStream();
      bench.device.waitFlag(*blocked, &flag, 1);
      const std::vector<RunValue> others = inputRows(bench, 8);
      const Tensor late = executor.runWithInput(inputs, {}, blocked).at(0);
      const int64_t replay = bytes() - recorded;
      EXPECT_GT(replay, 0);
      executor.runWithInput(others).at(0).waitReady();
      EXPECT_EQ(bytes(), recorded + 2 * replay);
      executor.runWithInput(others).at(0).waitReady();
      EXPECT_EQ(bytes(), recorded + 2 * replay);
      EXPECT_EQ(bytes(), plan.hostBytes());
      bench.device.writeFlag(*bench.stream, &flag, 1);
      late.waitReady();
    }
  }
}

TEST(PlanBytes, OfForgottenPlansUnderWayAreToldApart) {
  RunBench bench;
  MultiDeviceExecutor executor(*fusionOf(kSumOfProducts), bench.device,
                               {.lowering = {.grouping = Grouping::Single}, .evaluator = {.plans = {.plans = 1}}});
  uint64_t flag = 0;
  const std::shared_ptr<Stream> blocked = bench.device.createStream();
  bench.device.waitFlag(*blocked, &flag, 1);
  const Tensor late = executor.runWithInput(inputRows(bench, 8), {}, blocked).at(0);
  const int64_t one_plan = executor.evaluator().stats().plans.bytes;
  EXPECT_EQ(executor.evaluator().stats().retired_bytes, 0);
  executor.runWithInput(inputRows(bench, 4)).at(0).waitReady();
  EXPECT_EQ(executor.evaluator().stats().plans.plans, 1);
  EXPECT_EQ(executor.evaluator().stats().retired_bytes, one_plan);
  bench.device.writeFlag(*bench.stream, &flag, 1);
  late.waitReady();
  bench.device.synchronize(*blocked);
  executor.runWithInput(inputRows(bench, 2)).at(0).waitReady();
  EXPECT_EQ(executor.evaluator().stats().retired_bytes, 0);
}

// By as much as the heap grows when plans of new sizes are made and called, within a factor.
TEST(PlanBytes, AreAboutWhatTheHeapHas) {
  if (kThreadSanitizer) GTEST_SKIP() << "its heap is another";
  for (const Grouping grouping : {Grouping::Single, Grouping::Fused}) {
    RunBench bench;
    MultiDeviceExecutor executor(*fusionOf(kSumOfProducts), bench.device, {.lowering = {.grouping = grouping}});
    const auto call = [&](int64_t count) { executor.runWithInput(inputRows(bench, count)).at(0).waitReady(); };
    for (int64_t count = 101; count <= 132; ++count) call(count);
    const size_t heap_before = mallinfo2().uordblks;
    const int64_t before = executor.evaluator().stats().plans.bytes;
    for (int64_t count = 1; count <= 64; ++count) call(count);
    const auto heap = static_cast<int64_t>(mallinfo2().uordblks - heap_before);
    const int64_t counted = executor.evaluator().stats().plans.bytes - before;
    EXPECT_GT(counted, heap / 3) << "of " << heap;
    EXPECT_LT(counted, heap * 2) << "of " << heap;
    std::cout << fmt::format("[  memory  ] grouping {}: {} bytes counted for 64 plans, the heap grew by {}\n",
                             static_cast<int>(grouping), counted, heap);
  }
}

}  // namespace
}  // namespace tokamak
