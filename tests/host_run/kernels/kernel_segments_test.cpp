// Segments that run as kernels: any size runs code that is there, a new seed makes no plan, blocks of one structure are
// compiled once, and input that does not suit a kernel makes another one or is refused.
#include <algorithm>
#include <mutex>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/kernel_observer.h"
#include "host_run/counting_heap.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"
#include "jit/cpu_jit.h"
#include "jit/kernel_collector.h"
#include "runtime/cpu/stream_edges.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

class NewsReader final : public KernelObserver {
 public:
  void onKernel(const Fusion&, const std::string&, const std::string&) override { ++kernels; }
  void onChoice(const KernelNews& news) override { reasons.push_back(news.reason); }
  void onShared(const std::string&, const std::string&) override { ++shared; }
  int64_t kernels = 0;
  int64_t shared = 0;
  std::vector<std::string> reasons;
};

struct KernelBench {
  explicit KernelBench(KernelRunner runner = KernelRunner::Compiled)
      : bench({.threads = 2, .poisons_memory = true, .kernels = &news, .runner = runner}) {}

  MultiDeviceExecutor executorOf(const Fusion& fusion) {
    return MultiDeviceExecutor(
        fusion, bench.device,
        {.lowering = {.grouping = Grouping::Fused}, .evaluator = {.segments = SegmentMode::Kernels}});
  }
  // Runs the fusion and compares.
  static void expectRight(const Fusion& fusion, MultiDeviceExecutor& executor, const std::vector<RunValue>& inputs) {
    EXPECT_EQ(differenceFromOracle(fusion, oracleInputsOf(inputs), executor.runWithInput(inputs)), "");
  }

  NewsReader news;
  RunBench bench;
};

// Some lengths of rows are constants of kernels, the others have one for all of them.
TEST(KernelSegments, OfOneProgramRunAnySizeWithFewKernels) {
  for (const KernelRunner runner : {KernelRunner::Compiled, KernelRunner::Interpreted}) {
    KernelBench it(runner);
    const auto fusion = fusionOf("fusion f(T0: f32[i0, i2], T1: f32[i2]) -> T2 { T2 = softmax(mul(T0, T1)) }");
    MultiDeviceExecutor executor = it.executorOf(*fusion);
    for (const int64_t rows : {3, 0, 1, 17})
      for (const int64_t columns : {5, 1, 0, 8, 129, 2, 64, 600, 1025})
        it.expectRight(*fusion, executor, it.bench.inputsOf(*fusion, {{"i0", rows}, {"i2", columns}}));
    if (runner == KernelRunner::Compiled) {
      EXPECT_EQ(it.news.reasons.size(), 5U) << testing::PrintToString(it.news.reasons);
    }
  }
}

// Rows of up to 16, which compilers unroll.
// What one loop cannot deal out together is not one segment, whatever the kernel could be.
TEST(KernelSegments, AreDealtOutByTheirStreamLoops) {
  const char* programs[] = {
      "fusion f(T0: f32[6, 3]) -> T1, T2 { T1 = cast(T0, dtype=i32) T2 = cast(T1, dtype=i64) } "
      "schedule { parallelize(T2, axis=1, type=Stream) }",
      "fusion f(T0: f32[6, 3]) -> T1, T2 { T1 = neg(T0) T2 = abs(T0) } "
      "schedule { parallelize(T1, axis=0, type=Stream) parallelize(T2, axis=1, type=Stream) }",
      "fusion f(T0: f32[6, 3]) -> T1, T2 { T1 = neg(T0) T2 = abs(T1) } "
      "schedule { split(T1, axis=0, factor=2) parallelize(T1, axis=0, type=Stream) parallelize(T2, axis=0, "
      "type=Stream) }",
      "fusion f(T0: bool[4, 1, 3]) -> T2 { T1 = max(T0, axes=[0]) T2 = broadcast(T1, flags=[true, false, false]) } "
      "schedule { parallelize(T2, axis=1, type=Stream) }",
  };
  for (const char* text : programs) {
    for (const KernelTarget& target : {cpuTarget(2), hopperTarget()}) {
      RunBench bench({.threads = 2, .poisons_memory = true, .runner = KernelRunner::Interpreted});
      const auto fusion = fusionOf(text);
      MultiDeviceExecutor executor(*fusion, bench.device, {.lowering = {.target = target}});
      const auto inputs = bench.inputsOf(*fusion);
      EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), executor.runWithInput(inputs)), "") << text;
    }
  }
}

// A product with its activation is no kernel: devices without such a library do it op by op.
TEST(KernelSegments, ThatAreProductsWithActivationsRunOnEveryDevice) {
  const char* programs[] = {
      "fusion f(T0: bf16[6, 16], T1: bf16[8, 16], T2: bf16[8]) -> T4 { T3 = linear(T0, T1, T2) "
      "T4 = cast(gelu_tanh(T3), dtype=bf16) }",
      "fusion f(T0: f32[i0, 16], T1: f32[16, 8]) -> T4 { T2 = matmul(exp(T0), T1) T3 = relu(T2) T4 = neg(T3) } "
      "sizes { i0 = 6 }",
      "fusion f(T0: f32[4, 6, 16], T1: f32[4, 16, 8]) -> T3 { T2 = matmul(T0, T1) T3 = relu(T2) } "
      "schedule { parallelize(T3, axis=0, type=Stream) }",
  };
  for (const KernelRunner runner : {KernelRunner::Compiled, KernelRunner::Interpreted}) {
    for (const char* text : programs) {
      RunBench bench({.threads = 2, .poisons_memory = true, .runner = runner});
      const auto fusion = fusionOf(text);
      KernelTarget activating = hopperTarget();
      activating.product_activations = kAllProductActivations;
      for (const KernelTarget& target : {cpuTarget(2), activating}) {
        for (const Mode mode : {Mode::Plan, Mode::Direct}) {
          MultiDeviceExecutor executor(*fusion, bench.device,
                                       {.lowering = {.target = target}, .evaluator = {.mode = mode}});
          const auto inputs = bench.inputsOf(*fusion);
          EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), executor.runWithInput(inputs)), "") << text;
        }
      }
    }
  }
}

TEST(KernelSegments, CountTruthsInShortRows) {
  for (const int64_t rows : {8, 12, 16}) {
    for (const int64_t columns : {2, 4, 8, 16, 17}) {
      KernelBench it;
      const auto fusion = fusionOf(fmt::format(
          "fusion f(T0: bool[i0, {}, {}], T1: i64[i0, {}]) -> T3 {{ T2 = sum(cast(T0, dtype=i64), axes=[1]) "
          "T3 = sub(T1, T2) }}",
          rows, columns, columns));
      MultiDeviceExecutor executor = it.executorOf(*fusion);
      it.expectRight(*fusion, executor, it.bench.inputsOf(*fusion, {{"i0", 2}}));
    }
  }
}

// A seed that changes with every call.
TEST(KernelSegments, TakeNewSeedsWithoutANewPlan) {
  for (const KernelRunner runner : {KernelRunner::Compiled, KernelRunner::Interpreted}) {
    KernelBench it(runner);
    const auto fusion = fusionOf(
        "fusion f(T0: f32[i0, i2], T1: f32[i0, i2], seed: i64, offset: i64, scale: f32) -> T5 { "
        "T2, T3 = dropout(T0, p=0.5, seed=seed, offset=offset) T4 = add(T2, T1) T5 = mul(T4, scale) }");
    MultiDeviceExecutor executor = it.executorOf(*fusion);
    const Tensor a = it.bench.random(DataType::F32, {5, 37}, 1);
    const Tensor b = it.bench.random(DataType::F32, {5, 37}, 2);
    const Plan* plan = nullptr;
    std::vector<std::vector<std::byte>> seen;
    for (const int64_t seed : {int64_t{0}, int64_t{1}, int64_t{1} << 40, int64_t{-1}}) {
      const std::vector<RunValue> inputs = {a, b, ScalarValue{seed}, ScalarValue{3 * seed}, ScalarValue{0.5}};
      const Plan& now = executor.planFor(inputs);
      EXPECT_TRUE(plan == nullptr || plan == &now) << "seed " << seed;
      plan = &now;
      it.expectRight(*fusion, executor, inputs);
      const std::vector<std::byte> bytes = bytesOf(executor.runWithInput(inputs).at(0));
      EXPECT_EQ(std::ranges::find(seen, bytes), seen.end()) << "seed " << seed;
      seen.push_back(bytes);
    }
    EXPECT_EQ(plan->parameters().size(), 3U);
    EXPECT_EQ(it.news.kernels, 1);
  }
}

// What steers an extent is not a parameter, though the same segment takes it as a value, too.
TEST(KernelSegments, KnowWhatTheirScalarsSteer) {
  KernelBench it;
  const auto fusion = fusionOf(
      "fusion f(n: i64, v: f64) -> T2 { T0 = full(shape=[n], value=v, dtype=f32) T1 = exp(T0) T2 = mul(T1, n) }");
  MultiDeviceExecutor executor = it.executorOf(*fusion);
  const Plan* plan = nullptr;
  for (const int64_t n : {3, 5}) {
    const std::vector<RunValue> inputs = {ScalarValue{n}, ScalarValue{0.0}};
    EXPECT_EQ(numbersOf(executor.runWithInput(inputs).at(0)),
              std::vector<double>(static_cast<size_t>(n), static_cast<double>(n)));
    EXPECT_NE(&executor.planFor(inputs), plan);
    plan = &executor.planFor(inputs);
    EXPECT_EQ(&executor.planFor(std::vector<RunValue>{ScalarValue{n}, ScalarValue{2.5}}), plan);
  }
}

// Twelve blocks of a transformer.
constexpr int kBlocks = 12;
std::string transformerBlocks() {
  std::string inputs = "T0: f32[rows, model]";
  std::string ops;
  int last = 0;
  int next = 1000;
  for (int block = 0; block < kBlocks; ++block) {
    const int w = 1 + 4 * block;
    inputs += fmt::format(", T{}: f32[model], T{}: f32[model], T{}: f32[hidden, model], T{}: f32[model, hidden]", w,
                          w + 1, w + 2, w + 3);
    ops += fmt::format("  T{0} = layer_norm(T{1}, weight=T{2}, bias=T{3})\n", next, last, w, w + 1);
    ops += fmt::format("  T{0} = linear(T{1}, T{2})\n", next + 100, next, w + 2);
    ops += fmt::format("  T{0} = gelu(T{1})\n", next + 200, next + 100);
    ops += fmt::format("  T{0} = linear(T{1}, T{2})\n", next + 300, next + 200, w + 3);
    ops += fmt::format("  T{0} = add(T{1}, T{2})\n", next + 400, next + 300, last);
    last = next + 400;
    next += 500;
  }
  return fmt::format("fusion blocks({}) -> T{} {{\n{}}} sizes {{ rows = 6, model = 16, hidden = 24 }}", inputs, last,
                     ops);
}

TEST(KernelSegments, OfOneStructureAreCompiledOnce) {
  KernelBench it;
  const CompileCounts before = kernelCompileCounts();
  const auto fusion = fusionOf(transformerBlocks());
  MultiDeviceExecutor executor = it.executorOf(*fusion);
  const std::vector<RunValue> values = it.bench.inputsOf(*fusion);
  const int64_t steps = executor.planFor(values).summary().steps;
  EXPECT_GE(steps, 4 * kBlocks);
  const CompileCounts after = kernelCompileCounts();
  // The residual of the last block is an output.
  EXPECT_LE(it.news.kernels, 5);
  EXPECT_LE(after.compiled + after.from_disk - before.compiled - before.from_disk, it.news.kernels);
  EXPECT_GE(it.news.shared + it.news.kernels, 2 * kBlocks);
  it.expectRight(*fusion, executor, values);
}

TEST(KernelSegments, OfOneStructureAreCompiledOnceForAGpu) {
  int64_t prepared = 0;
  KernelCollector device(hopperTarget(), [&](const PreparedKernel&) { ++prepared; });
  const std::shared_ptr<Stream> stream = device.createStream();
  const auto fusion = fusionOf(transformerBlocks());
  MultiDeviceExecutor executor(*fusion, device,
                               {.lowering = {.grouping = Grouping::Fused, .target = hopperTarget()},
                                .evaluator = {.segments = SegmentMode::Kernels}});
  const std::map<std::string, int64_t> sizes = {{"rows", 6}, {"model", 16}, {"hidden", 24}};
  std::vector<RunValue> inputs;
  for (const TensorView* tensor : tensorsOf(fusion->inputs())) {
    std::vector<int64_t> extents;
    for (const IterDomain* axis : tensor->logical()) extents.push_back(sizes.at(axis->extent()->name()));
    inputs.emplace_back(Tensor::empty(device, stream, tensor->dtype(), extents, MemoryKind::Device));
  }
  executor.planFor(inputs);
  EXPECT_GE(prepared, 2 * kBlocks);
  EXPECT_LE(device.codesMade(), 5);
}

// A program that is made again finds its kernels.
TEST(KernelSegments, OfAProgramThatWasThereBeforeAreThere) {
  KernelBench it;
  for (int time = 0; time < 3; ++time) {
    const auto fusion = fusionOf(fmt::format("fusion f{0}(T{0}: f32[n{0}]) -> T9 {{ T9 = neg(exp(T{0})) }}", time));
    MultiDeviceExecutor executor = it.executorOf(*fusion);
    it.expectRight(*fusion, executor, {it.bench.random(DataType::F32, {9 + time}, 1)});
  }
  EXPECT_EQ(it.news.kernels, 1);
  EXPECT_EQ(it.news.shared, 2);
}

TEST(KernelSegments, ReadMisalignedAndStridedMemory) {
  for (const KernelRunner runner : {KernelRunner::Compiled, KernelRunner::Interpreted}) {
    KernelBench it(runner);
    const auto fusion = fusionOf(
        "fusion f(T0: bf16[i0 strided, i2 strided]) -> T3 { T1 = exp(T0) T2 = neg(T1) T3 = cast(T2, dtype=bf16) }");
    MultiDeviceExecutor executor = it.executorOf(*fusion);
    const Tensor whole = it.bench.random(DataType::BF16, {9, 65}, 1);
    const auto part = [&](int64_t first, std::vector<int64_t> sizes, std::vector<int64_t> strides) {
      return std::vector<RunValue>{Tensor(whole.buffer(), 2 * first, DataType::BF16, sizes, strides)};
    };
    it.expectRight(*fusion, executor, part(0, {8, 64}, {64, 1}));
    it.expectRight(*fusion, executor, part(1, {8, 64}, {64, 1}));
    it.expectRight(*fusion, executor, part(4, {8, 64}, {64, 1}));
    it.expectRight(*fusion, executor, part(3, {8, 64}, {65, 1}));
    it.expectRight(*fusion, executor, part(0, {4, 32}, {130, 2}));
    it.expectRight(*fusion, executor, part(0, {8, 64}, {1, 8}));
    it.expectRight(*fusion, executor, part(0, {8, 64}, {0, 1}));
    it.expectRight(*fusion, executor, part(7, {1, 1}, {5, 3}));
    EXPECT_THAT(it.news.reasons.at(1), HasSubstr("alignment 2 instead of 16"));
    EXPECT_THAT(it.news.reasons.at(2), HasSubstr("alignment 8 instead of 2"));
    EXPECT_THAT(it.news.reasons.at(3), HasSubstr("T0 is not dense along axis 0"));
  }
}

TEST(KernelSegments, RefuseOutputsThatOverlapInputsInPart) {
  KernelBench it;
  const auto fusion = fusionOf("fusion f(T0: f32[i0]) -> T2 { T1 = exp(T0) T2 = neg(T1) }");
  MultiDeviceExecutor executor = it.executorOf(*fusion);
  const Tensor whole = it.bench.random(DataType::F32, {40}, 1);
  const auto part = [&](int64_t first) {
    return Tensor(whole.buffer(), 4 * first, DataType::F32, std::vector<int64_t>{16}, std::vector<int64_t>{1});
  };
  const std::vector<RunValue> inputs = {part(0)};
  EXPECT_THAT(refusalOf([&] { executor.runWithInput(inputs, std::vector<Tensor>{part(8)}); }), HasSubstr("overlaps"));
  EXPECT_THAT(refusalOf([&] { executor.runWithInput(inputs, std::vector<Tensor>{part(0)}); }), HasSubstr("overlaps"));
  const auto oracle = oracleInputsOf(inputs);
  EXPECT_EQ(differenceFromOracle(*fusion, oracle, executor.runWithInput(inputs, std::vector<Tensor>{part(16)})), "");
}

TEST(KernelSegments, ReadInputsThatOverlapOneAnother) {
  KernelBench it;
  const auto fusion = fusionOf("fusion f(T0: f32[i0], T1: f32[i0]) -> T3 { T2 = add(T0, T1) T3 = exp(T2) }");
  MultiDeviceExecutor executor = it.executorOf(*fusion);
  const Tensor whole = it.bench.random(DataType::F32, {40}, 1);
  for (const int64_t first : {0, 1, 8}) {
    const Tensor other(whole.buffer(), 4 * first, DataType::F32, std::vector<int64_t>{16}, std::vector<int64_t>{1});
    const Tensor one(whole.buffer(), 0, DataType::F32, std::vector<int64_t>{16}, std::vector<int64_t>{1});
    it.expectRight(*fusion, executor, {one, other});
  }
}

TEST(KernelSegments, SayWhichSizesDoNotFit) {
  KernelBench it;
  const auto fusion =
      fusionOf("fusion f(T0: f32[i0, i2]) -> T2 { T1 = slice(T0, axis=1, start=2, stop=7) T2 = exp(T1) }");
  MultiDeviceExecutor executor = it.executorOf(*fusion);
  it.expectRight(*fusion, executor, {it.bench.random(DataType::F32, {4, 9}, 1)});
  it.expectRight(*fusion, executor, {it.bench.random(DataType::F32, {4, 7}, 1)});
  const std::vector<RunValue> short_rows = {it.bench.random(DataType::F32, {4, 6}, 1)};
  EXPECT_THAT(refusalOf([&] { executor.runWithInput(short_rows); }),
              HasSubstr("slice: axis 1 of T0: f32[i0, i2] has size 6, but element 6 of it is read"));
}

#ifndef TK_THREAD_SANITIZER
TEST(KernelSegments, TakeNothingFromTheHeapByTheHotEntry) {
  KernelBench it;
  const auto fusion = fusionOf(
      "fusion f(T0: f32[i0, i2], seed: i64, scale: f32) -> T3 { T1, T2 = dropout(T0, p=0.1, seed=seed, offset=0) T3 = "
      "mul(T1, scale) }");
  MultiDeviceExecutor executor = it.executorOf(*fusion);
  const std::vector<Tensor> inputs = {it.bench.random(DataType::F32, {37, 64}, 1)};
  std::vector<Tensor> outputs = {it.bench.empty(DataType::F32, {37, 64})};
  std::array<ScalarValue, 2> scalars = {int64_t{0}, 0.0};
  const auto run = [&](int call) {
    scalars = {int64_t{call}, 0.25 * call};
    executor.evaluator().run(inputs, outputs, *it.bench.stream, scalars);
    it.bench.device.synchronize(*it.bench.stream);
  };
  for (int call = 0; call < 5; ++call) run(call);
  const int64_t before = heapRequests();
  for (int call = 0; call < 100; ++call) run(call);
  EXPECT_EQ(heapRequests() - before, 0);
  const std::vector<RunValue> values = {inputs[0], scalars[0], scalars[1]};
  EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(values), outputs), "");
}
#endif

}  // namespace
}  // namespace tokamak
