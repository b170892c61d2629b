// What a program costs at sizes that it never ran at, when its kernels are compiled already: no compiler, no lowering.
//
//   bench_unseen_size --benchmark_repetitions=5
//
// newSize: a plan for a size that is new (statements walked, kernels found and bound, plan checked and placed).
// newRowsOfAGpu: the same for kernels of an H200, of which another number of rows needs no other ones; nothing is
// compiled or launched. repeatedSize: the plan is found by its key. `made`: kernels that were lowered while the clock
// ran.
#include <benchmark/benchmark.h>

#include "compile/multi_device_executor.h"
#include "define/callables.h"
#include "device/kernel_observer.h"
#include "ir/text/fusion_parser.h"
#include "jit/jit_device.h"
#include "jit/kernel_collector.h"

namespace tokamak {
namespace {

constexpr const char* kPointwise =
    "fusion pointwise(T0: f32[i0, i2], T1: f32[i0, i2]) -> T4 { T2 = mul(T0, T1) T3 = relu(T2) T4 = add(T3, T0) }";
constexpr const char* kSoftmax = "fusion softmax(T0: f32[i0, i2]) -> T1 { T1 = softmax(T0) }";
constexpr const char* kLayerNorm =
    "fusion layer_norm(T0: f32[i0, i2], T1: f32[i2], T2: f32[i2]) -> T3 { T3 = layer_norm(T0, weight=T1, bias=T2) }";

class KernelCounter final : public KernelObserver {
 public:
  void onKernel(const Fusion&, const std::string&, const std::string&) override {}
  void onChoice(const KernelNews&) override { ++count; }
  int64_t count = 0;
};

std::vector<RunValue> inputsAt(const Fusion& fusion, const std::shared_ptr<Buffer>& memory, int64_t rows,
                               int64_t columns) {
  std::vector<RunValue> values;
  for (Val* input : fusion.inputs()) {
    const TensorView* tensor = asTensor(input);
    if (tensor->logical().size() == 2)
      values.emplace_back(
          Tensor(memory, 0, tensor->dtype(), std::vector<int64_t>{rows, columns}, std::vector<int64_t>{columns, 1}));
    else
      values.emplace_back(Tensor(memory, 0, tensor->dtype(), std::vector<int64_t>{columns}, std::vector<int64_t>{1}));
  }
  return values;
}

// `columnsAt`: of a call; rows differ in every call.
void planNewSizes(benchmark::State& state, const Fusion& fusion, Device& device, const KernelTarget& target,
                  const KernelCounter& counter, int64_t (*columnsAt)(int64_t call)) {
  const std::shared_ptr<Stream> stream = device.createStream();
  const auto memory = Buffer::allocate(device, stream, int64_t{1} << 30, MemoryKind::Device);
  MultiDeviceExecutor executor(
      fusion, device,
      {.lowering = {.grouping = Grouping::Fused, .target = target}, .evaluator = {.segments = SegmentMode::Kernels}});
  executor.planFor(inputsAt(fusion, memory, 16, columnsAt(0)));
  const int64_t before = counter.count;
  int64_t call = 0;
  for (auto _ : state) {
    ++call;
    const std::vector<RunValue> inputs = inputsAt(fusion, memory, 16 + call, columnsAt(call));
    benchmark::DoNotOptimize(&executor.planFor(inputs));
  }
  state.counters["made"] = static_cast<double>(counter.count - before);
}

void newSize(benchmark::State& state, const char* text) {
  const std::unique_ptr<Fusion> fusion = parseFusion(text, "benchmark", {.resolver = &definingResolver()});
  KernelCounter counter;
  JitCpuDevice device({.threads = 1, .kernels = &counter});
  planNewSizes(state, *fusion, device, cpuTarget(), counter, [](int64_t call) { return 64 + 8 * call; });
}

void newRowsOfAGpu(benchmark::State& state, const char* text) {
  const std::unique_ptr<Fusion> fusion = parseFusion(text, "benchmark", {.resolver = &definingResolver()});
  KernelCounter counter;
  KernelCollector device(hopperTarget(), [](const PreparedKernel&) {}, {}, &counter);
  planNewSizes(state, *fusion, device, hopperTarget(), counter, [](int64_t) { return int64_t{4096}; });
}

void repeatedSize(benchmark::State& state, const char* text) {
  const std::unique_ptr<Fusion> fusion = parseFusion(text, "benchmark", {.resolver = &definingResolver()});
  JitCpuDevice device({.threads = 1});
  const std::shared_ptr<Stream> stream = device.createStream();
  const auto memory = Buffer::allocate(device, stream, int64_t{1} << 26, MemoryKind::Device);
  MultiDeviceExecutor executor(
      *fusion, device, {.lowering = {.grouping = Grouping::Fused}, .evaluator = {.segments = SegmentMode::Kernels}});
  const std::vector<RunValue> inputs = inputsAt(*fusion, memory, 16, 64);
  for (auto _ : state) benchmark::DoNotOptimize(&executor.planFor(inputs));
}

// Plans are kept, so the number of sizes is bounded.
BENCHMARK_CAPTURE(newSize, pointwise, kPointwise)->Iterations(400)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(newSize, softmax, kSoftmax)->Iterations(400)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(newSize, layer_norm, kLayerNorm)->Iterations(400)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(newRowsOfAGpu, pointwise, kPointwise)->Iterations(400)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(newRowsOfAGpu, softmax, kSoftmax)->Iterations(400)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(newRowsOfAGpu, layer_norm, kLayerNorm)->Iterations(400)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(repeatedSize, layer_norm, kLayerNorm)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tokamak
