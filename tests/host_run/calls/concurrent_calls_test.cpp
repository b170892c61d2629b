// Calls that overlap: of one evaluator by two threads, and chains of evaluators whose tensors are let go at once.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

const char* const kRowChain =
    "fusion f(T0: f32[i0, i2]) -> T3 { T1 = mul(T0, 2.0) T2 = add(T1, 1.0) T3 = mul(T2, T1) } sizes { i0 = 8, i2 = 512 "
    "} "
    "schedule { parallelize(T3, axis=0, type=Stream) propagate(T3) }";

float expected(float x) { return (2 * x + 1) * (2 * x); }

// Elements that tell the thread, the round and the position; exact in f32 through the chain.
float elementOf(int64_t thread, int64_t round, int64_t i) {
  return static_cast<float>((thread * 7 + round * 3 + i) % 64);
}

void fill(const Tensor& tensor, int64_t thread, int64_t round) {
  auto* data = static_cast<float*>(tensor.hostData());
  for (int64_t i = 0; i < tensor.numel(); ++i) data[i] = elementOf(thread, round, i);
}

int64_t countWrong(const Tensor& tensor, int64_t thread, int64_t round) {
  const auto* data = static_cast<const float*>(tensor.hostData());
  int64_t wrong = 0;
  for (int64_t i = 0; i < tensor.numel(); ++i) wrong += data[i] == expected(elementOf(thread, round, i)) ? 0 : 1;
  return wrong;
}

TEST(ConcurrentCalls, OfOneEvaluatorByTwoThreadsOnStreamsOfTheirOwn) {
  RunBench bench;
  const auto fusion = fusionOf(kRowChain);
  MultiDeviceExecutor executor(*fusion, bench.device);
  std::atomic<int64_t> wrong = 0;
  const auto call = [&](int64_t thread) {
    const std::shared_ptr<Stream> stream = bench.device.createStream();
    // One thread's tensors have another size in every second round, so that two plans are replayed at once.
    for (int64_t round = 0; round < 100; ++round) {
      const int64_t rows = thread == 1 && round % 2 == 1 ? 5 : 8;
      const int64_t sizes[] = {rows, 512};
      Tensor in[] = {Tensor::emptyOnHost(bench.device, stream, DataType::F32, sizes)};
      Tensor out[] = {Tensor::empty(bench.device, stream, DataType::F32, sizes, MemoryKind::Device)};
      fill(in[0], thread, round);
      executor.evaluator().run(in, out, *stream);
      wrong += countWrong(out[0], thread, round);
    }
  };
  std::thread first(call, 0), second(call, 1);
  first.join();
  second.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(ConcurrentCalls, WithoutWaitingInBetweenKeepTheirOrderOnTwoStreams) {
  RunBench bench;
  const auto fusion = fusionOf(kRowChain);
  MultiDeviceExecutor executor(*fusion, bench.device);
  const std::shared_ptr<Stream> streams[] = {bench.device.createStream(), bench.device.createStream()};
  std::vector<Tensor> inputs, outputs;
  for (int64_t round = 0; round < 40; ++round) {
    inputs.push_back(bench.empty(DataType::F32, {8, 512}));
    fill(inputs.back(), 0, round);
    outputs.push_back(bench.empty(DataType::F32, {8, 512}));
  }
  for (size_t round = 0; round < inputs.size(); ++round) {
    executor.evaluator().run(std::span(inputs).subspan(round, 1), std::span(outputs).subspan(round, 1),
                             *streams[round % 2]);
  }
  for (size_t round = 0; round < outputs.size(); ++round)
    EXPECT_EQ(countWrong(outputs[round], 0, static_cast<int64_t>(round)), 0) << round;
}

TEST(ConcurrentCalls, RunWithInputByTwoThreads) {
  for (const Mode mode : {Mode::Plan, Mode::Direct}) {
    RunBench bench;
    const auto fusion = fusionOf(kRowChain);
    MultiDeviceExecutor executor(*fusion, bench.device,
                                 {.lowering = {.grouping = Grouping::Single}, .evaluator = {.mode = mode}});
    std::atomic<int64_t> wrong = 0;
    const auto call = [&](int64_t thread) {
      const std::shared_ptr<Stream> stream = bench.device.createStream();
      const int64_t sizes[] = {8, 512};
      for (int64_t round = 0; round < 50; ++round) {
        Tensor in = Tensor::emptyOnHost(bench.device, stream, DataType::F32, sizes);
        fill(in, thread, round);
        const RunValue inputs[] = {in};
        wrong += countWrong(executor.runWithInput(inputs).at(0), thread, round);
      }
    };
    std::thread first(call, 0), second(call, 1);
    first.join();
    second.join();
    EXPECT_EQ(wrong.load(), 0) << "mode " << static_cast<int>(mode);
  }
}

// What the first evaluator gives is let go while the second may still read it; the first then makes more of the same
// size.
TEST(ConcurrentCalls, ATensorMayBeLetGoOnceItIsHandedOn) {
  for (const Mode mode : {Mode::Plan, Mode::Direct}) {
    RunBench bench;
    const auto first = fusionOf("fusion f(T0: f32[n, n]) -> T1 { T1 = mul(T0, 2.0) } sizes { n = 256 }");
    const auto second = fusionOf(
        "fusion f(T0: f32[n, n]) -> T3 { T1 = matmul(T0, T0) T2 = matmul(T1, T0) T3 = add(T2, T0) } sizes { n = 256 }");
    MultiDeviceExecutor make(*first, bench.device,
                             {.lowering = {.grouping = Grouping::Single}, .evaluator = {.mode = mode}});
    MultiDeviceExecutor use(*second, bench.device,
                            {.lowering = {.grouping = Grouping::Single}, .evaluator = {.mode = mode}});
    std::vector<double> identity(256 * 256, 0);
    for (size_t i = 0; i < 256; ++i) identity[i * 257] = 1;
    const RunValue inputs[] = {bench.numbers(DataType::F32, {256, 256}, identity)};
    const RunValue others[] = {bench.numbers(DataType::F32, {256, 256}, std::vector<double>(256 * 256, 3))};
    for (int round = 0; round < 10; ++round) {
      const auto chained = [&] {
        const RunValue handed_on[] = {make.runWithInput(inputs).at(0)};
        return use.runWithInput(handed_on).at(0);
      };
      const Tensor result = chained();
      for (int more = 0; more < 3; ++more) make.runWithInput(others);
      const auto* data = static_cast<const float*>(result.hostData());
      int64_t wrong = 0;
      for (int64_t i = 0; i < 256 * 256; ++i) wrong += data[i] == (i % 257 == 0 ? 10.0F : 0.0F) ? 0 : 1;
      ASSERT_EQ(wrong, 0) << "round " << round << ", mode " << static_cast<int>(mode);
    }
  }
}

TEST(ConcurrentCalls, AnEvaluatorMayGoWhileItsWorkRuns) {
  for (const Mode mode : {Mode::Plan, Mode::Direct}) {
    RunBench bench;
    const auto fusion = fusionOf(
        "fusion f(T0: f32[n, n]) -> T3 { T1 = matmul(T0, T0) T2 = matmul(T1, T0) T3 = add(T2, T0) } sizes { n = 256 } "
        "schedule { split(T3, axis=0, factor=32) parallelize(T3, axis=0, type=Stream) }");
    const std::vector<RunValue> inputs = bench.inputsOf(*fusion);
    std::vector<Tensor> outputs;
    {
      MultiDeviceExecutor executor(*fusion, bench.device,
                                   {.lowering = {.grouping = Grouping::Single}, .evaluator = {.mode = mode}});
      outputs = executor.runWithInput(inputs);
    }
    EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), outputs), "") << "mode " << static_cast<int>(mode);
    {
      MultiDeviceExecutor executor(*fusion, bench.device,
                                   {.lowering = {.grouping = Grouping::Single}, .evaluator = {.mode = mode}});
      executor.runWithInput(inputs);  // nobody wants the outputs either
    }
  }
}

}  // namespace
}  // namespace tokamak
