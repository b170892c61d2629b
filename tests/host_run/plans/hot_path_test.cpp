// The hot entry takes nothing from the heap after its first call, whatever the number of steps.
// Not under ThreadSanitizer, which has its own operator new.
#include "runtime/cpu/stream_edges.h"

#ifndef TK_THREAD_SANITIZER

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "host_run/counting_heap.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

// How often the heap is asked while the fusion is run a hundred times by the hot entry, all threads counted.
int64_t heapRequestsOf(const Fusion& fusion, int64_t streams, int64_t expected_steps) {
  RunBench bench;
  MultiDeviceExecutor executor(
      fusion, bench.device, {.lowering = {.grouping = Grouping::Single}, .evaluator = {.number_of_streams = streams}});
  std::vector<Tensor> inputs, outputs;
  for (const RunValue& value : bench.inputsOf(fusion)) inputs.push_back(std::get<Tensor>(value));
  outputs.push_back(bench.empty(DataType::F32, {inputs[0].size(0), inputs[0].size(1)}));
  const auto run = [&] {
    executor.evaluator().run(inputs, outputs, *bench.stream);
    bench.device.synchronize(*bench.stream);
  };
  // The second call finds a ready event to use again; the first ones warm the device's threads.
  for (int i = 0; i < 5; ++i) run();
  const int64_t before = heapRequests();
  for (int i = 0; i < 100; ++i) run();
  const int64_t requests = heapRequests() - before;
  const auto values = std::vector<RunValue>(inputs.begin(), inputs.end());
  EXPECT_GE(executor.planFor(values, outputs).summary().steps, expected_steps);
  EXPECT_EQ(differenceFromOracle(fusion, oracleInputsOf(values), outputs), "");
  return requests;
}

TEST(HotEntry, TakesNothingFromTheHeapForAThousandSetsOnOneStream) {
  std::string text = "fusion f(T0: f32[i0, i2]) -> T1000 {\n";
  // Sets that bind would be no steps: they change their kind of memory each time.
  for (int i = 1; i <= 1000; ++i)
    text += fmt::format("  T{}: f32[i0, i2] in {} = set(T{})\n", i, i % 2 == 0 ? "device" : "host", i - 1);
  const auto fusion = fusionOf(text + "} sizes { i0 = 4, i2 = 8 }");
  EXPECT_EQ(heapRequestsOf(*fusion, 4, 1000), 0);
}

TEST(HotEntry, TakesNothingFromTheHeapForAThousandSetsOnFourStreams) {
  const auto fusion = fusionOf(
      "fusion f(T0: f32[i0, i2]) -> T2 { T1 = set(T0) T2 = set(T1) } sizes { i0 = 500, i2 = 8 } "
      "schedule { parallelize(T1, axis=0, type=Stream) parallelize(T2, axis=0, type=Stream) }");
  EXPECT_EQ(heapRequestsOf(*fusion, 4, 1000), 0);
}

TEST(HotEntry, TakesNothingFromTheHeapForAStreamedMlp) {
  const auto fusion = fusionOf(
      "fusion f(T0: f32[rows, model], T1: f32[hidden, model], T2: f32[model, hidden]) -> T5 { T3 = linear(T0, T1) T4 = "
      "gelu(T3) T5 = linear(T4, T2) } "
      "sizes { rows = 64, model = 32, hidden = 48 } schedule { split(T5, axis=0, factor=8) parallelize(T5, axis=0, "
      "type=Stream) propagate(T5) }");
  EXPECT_EQ(heapRequestsOf(*fusion, 4, 16), 0);
}

}  // namespace
}  // namespace tokamak

#endif
