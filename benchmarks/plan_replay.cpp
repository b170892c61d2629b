// Plan replay on the CPU device: what the host spends per step, and what a whole call takes.
//
//   bench_plan_replay --benchmark_out=FILE --benchmark_out_format=json
//
// replay/1: 1,000 Sets of one element on the caller's stream. replay/4: the same dealt out to 4 streams with waits.
// Fresh output pointers each call. `enqueue_ns_per_step`: until the call returns; `ns_per_step`: until the results are
// there.
#include <benchmark/benchmark.h>

#include <chrono>

#include "compile/multi_device_executor.h"
#include "define/structured.h"
#include "jit/jit_device.h"

namespace tokamak {
namespace {

constexpr int64_t kSets = 1000;

// 1,000 independent copies of one-element rows of T0[1000, 1] as one streamed loop, or as 1,000 statements.
std::unique_ptr<HostIrContainer> streamedSets() {
  Fusion fusion("sets");
  TensorView* in = fusion.tensor(
      DataType::F32, {fusion.axis({.extent = fusion.constant(kSets)}), fusion.axis({.extent = fusion.symbol("n")})});
  fusion.addInput(in);
  TensorView* out = set(in);
  out->axis(0)->parallelize(ParallelType::Stream);
  fusion.addOutput(out);
  return lowerToHostProgram(fusion, {.grouping = Grouping::Single});
}

std::unique_ptr<HostIrContainer> chainedSets() {
  Fusion fusion("sets");
  TensorView* tensor = fusion.tensor(DataType::F32, {fusion.axis({.extent = fusion.symbol("n")})});
  fusion.addInput(tensor);
  // Alternating memory kinds, so that every Set is a copy.
  for (int64_t i = 0; i < kSets; ++i) {
    tensor = set(tensor);
    tensor->setMemoryKind(i % 2 == 0 ? MemoryKind::Host : MemoryKind::Device);
  }
  fusion.addOutput(tensor);
  return lowerToHostProgram(fusion, {.grouping = Grouping::Single});
}

void replay(benchmark::State& state, std::unique_ptr<HostIrContainer> program, std::vector<int64_t> sizes) {
  JitCpuDevice device;
  HostIrEvaluator evaluator(std::move(program), device);
  const std::shared_ptr<Stream> stream = device.createStream();
  const Tensor input = Tensor::emptyOnHost(device, stream, DataType::F32, sizes);
  std::vector<Tensor> outputs;
  for (int i = 0; i < 8; ++i) outputs.push_back(Tensor::emptyOnHost(device, stream, DataType::F32, sizes));
  size_t next = 0;
  double enqueue_seconds = 0;
  double total_seconds = 0;
  int64_t calls = 0;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    evaluator.run({&input, 1}, {&outputs[next], 1}, *stream);
    enqueue_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    device.synchronize(*stream);
    total_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    next = (next + 1) % outputs.size();
    ++calls;
  }
  state.counters["enqueue_ns_per_step"] = enqueue_seconds * 1e9 / static_cast<double>(calls * kSets);
  state.counters["ns_per_step"] = total_seconds * 1e9 / static_cast<double>(calls * kSets);
}

BENCHMARK_CAPTURE(replay, one_stream, chainedSets(), std::vector<int64_t>{1})->UseRealTime();
BENCHMARK_CAPTURE(replay, four_streams, streamedSets(), std::vector<int64_t>{kSets, 1})->UseRealTime();

}  // namespace
}  // namespace tokamak
