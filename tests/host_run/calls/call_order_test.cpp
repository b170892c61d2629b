// The order of calls: whoever holds a piece of memory, by whatever handle and on whatever stream, finds it as if one
// call ran after the other.
#include <algorithm>
#include <functional>
#include <latch>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/hazard_tracker.h"
#include "error_of.h"
#include "host/sanitized_share.h"
#include "host_run/call_sequence.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"
#include "jit/jit_device.h"

namespace tokamak {
namespace {

// For sanitizers matrices are small: they see what is not ordered however short it is.
CallTarget targetOn(CpuDevice& device, int64_t size) {
  return {.device = &device,
          .op = "add",
          .size = kShare == 1 ? size : 16,
          .step = [](float x) { return x + 1; },
          .fill = [](float* to, int64_t n, float x) { std::fill_n(to, n * n, x); },
          .operand = 1,
          .dlpack_device = {}};
}

struct CallCase {
  std::string name;
  HostIrEvaluatorParams evaluator;
  int64_t turns = 20;
};

class CallOrder : public testing::TestWithParam<CallCase> {};

TEST_P(CallOrder, IsKeptInChainsOfTwoAndThreePrograms) {
  JitCpuDevice device({.threads = 2, .poisons_memory = true});
  CallSequence sequence(targetOn(device, 96), GetParam().evaluator);
  EXPECT_EQ(countWrongChains(sequence, repetitions(GetParam().turns)), 0);
}

TEST_P(CallOrder, IsKeptInRandomSequences) {
  JitCpuDevice device({.threads = 2, .poisons_memory = true});
  CallSequence sequence(targetOn(device, 128), GetParam().evaluator);
  EXPECT_EQ(countWrongSequences(sequence, repetitions(10) * 20, 12, 1), 0);
  EXPECT_GT(sequence.moves(), 0);
}

TEST_P(CallOrder, TellsEachReaderOfAFailureAndLeavesOthersAlone) {
  JitCpuDevice device({.threads = 2, .poisons_memory = true});
  CallSequence sequence(targetOn(device, 32), GetParam().evaluator);
  EXPECT_EQ(countWrongFailures(sequence, repetitions(10) * 20, 12, 1), 0);
  EXPECT_GT(sequence.told(), 0);
}

INSTANTIATE_TEST_SUITE_P(Evaluators, CallOrder,
                         testing::Values(CallCase{"plan", {}, 200}, CallCase{"direct", {.mode = Mode::Direct}},
                                         CallCase{"one_at_a_time", {.calls_in_flight = 1}},
                                         CallCase{"here", {.place = RunPlace::Here}}),
                         [](const auto& evaluator) { return evaluator.param.name; });

const char* const kLongUpdate =
    "fusion f(T0: f32[n, n]) -> T12 { T1 = add(T0, 1.0) T2 = add(T1, 1.0) T3 = add(T2, 1.0) T4 = add(T3, 1.0) "
    "T5 = add(T4, 1.0) T6 = add(T5, 1.0) T7 = add(T6, 1.0) T8 = add(T7, 1.0) T9 = add(T8, 1.0) T10 = add(T9, 1.0) "
    "T11 = add(T10, 1.0) T12 = add(T11, 1.0) } sizes { n = 256 }";

class LongUpdate {
 public:
  LongUpdate() {
    const auto fusion = fusionOf(kLongUpdate);
    fusion->aliasOutput(fusion->outputs()[0], asTensor(fusion->inputs()[0]), true);
    executor = std::make_unique<MultiDeviceExecutor>(
        *fusion, bench.device, MultiDeviceExecutorParams{.lowering = {.grouping = Grouping::Single}});
  }
  Tensor wrapped() {
    const int64_t sizes[] = {256, 256};
    const int64_t strides[] = {256, 1};
    return Tensor::borrow(bench.device, memory.data(), DataType::F32, sizes, strides, MemoryKind::Device);
  }
  RunBench bench;
  std::vector<float> memory = std::vector<float>(256 * 256, 1.0F);
  std::unique_ptr<MultiDeviceExecutor> executor;
};

TEST(CallsOnWrappedMemory, ReturnWhenTheyAreDoneUnlessTheyHaveAStream) {
  LongUpdate it;
  for (int round = 0; round < 20; ++round) {
    const RunValue inputs[] = {it.wrapped()};
    it.executor->runWithInput(inputs);
    EXPECT_EQ(it.memory.front(), static_cast<float>(13 + 12 * round));
    EXPECT_EQ(it.memory.back(), static_cast<float>(13 + 12 * round));
  }
  // The stream is kept from running: a call that waited would never return.
  uint64_t flag = 0;
  it.bench.device.waitFlag(*it.bench.stream, &flag, 1);
  const RunValue inputs[] = {it.wrapped()};
  it.executor->runWithInput(inputs, {}, it.bench.stream);
  EXPECT_EQ(it.memory.front(), 1.0F + 12 * 20);
  std::thread opener(
      [&] { it.bench.device.writeFlag(*std::shared_ptr<Stream>(it.bench.device.createStream()), &flag, 1); });
  EXPECT_EQ(*static_cast<const float*>(it.wrapped().hostDataToRead()), 1.0F + 12 * 21);
  opener.join();
}

// An allocator gives the address of one array to the next.
TEST(CallsOnWrappedMemory, OfAnotherOwnerIsNotToldOfFailuresBefore) {
  LongUpdate it;
  Device& device = it.bench.device;
  const std::shared_ptr<Stream> stream = device.createStream();
  std::latch may_fail(1);
  {
    OrderedCall call(device);
    const Tensor first = it.wrapped();
    call.add(first, MemoryAccess::Write);
    call.run(*stream, [&] {
      device.callback(*stream, [&] {
        may_fail.wait();
        throw Error(ErrorCode::Device, "the first owner's");
      });
    });
  }
  const Tensor second = it.wrapped();
  may_fail.count_down();
  EXPECT_EQ(*static_cast<const float*>(second.hostDataToRead()), 1.0F);
  const RunValue inputs[] = {second};
  it.executor->runWithInput(inputs);
  EXPECT_EQ(it.memory.front(), 13.0F);
  EXPECT_EQ(errorOf([&] { device.synchronize(*stream); }).message(), "the first owner's");
}

// Tensors that are kept for the next call stand for an address, whoever's array is there.
TEST(CallsOnWrappedMemory, WhoseAddressIsKeptIsNotToldOfFailuresBefore) {
  LongUpdate it;
  Device& device = it.bench.device;
  const std::shared_ptr<Stream> stream = device.createStream();
  const auto write = [&](const Tensor& tensor, std::function<void()> body) {
    OrderedCall call(device);
    call.add(tensor, MemoryAccess::Write);
    call.run(*stream, [&] { device.callback(*stream, std::move(body)); });
  };
  const Tensor kept = it.wrapped();
  kept.buffer()->standForAddress();
  write(kept, [] {});
  {
    const Tensor first = it.wrapped();
    write(first, [] { throw Error(ErrorCode::Device, "the first owner's"); });
    EXPECT_EQ(errorOf([&] { device.synchronize(*stream); }).message(), "the first owner's");
    EXPECT_THAT(errorOf([&] { it.wrapped().hostDataToRead(); }).message(), testing::HasSubstr("the first owner's"));
  }
  const Tensor second = it.wrapped();
  EXPECT_EQ(*static_cast<const float*>(second.hostDataToRead()), 1.0F);
  const RunValue inputs[] = {second};
  it.executor->runWithInput(inputs);
  EXPECT_EQ(it.memory.front(), 13.0F);
}

TEST(CallsOnWrappedMemory, OfPartsThatOverlapAreOrdered) {
  LongUpdate it;
  const int64_t rows[] = {128, 256};
  const int64_t strides[] = {256, 1};
  const auto part = [&](size_t first_row) {
    return Tensor::borrow(it.bench.device, it.memory.data() + first_row * 256, DataType::F32, rows, strides,
                          MemoryKind::Device);
  };
  const std::shared_ptr<Stream> other = it.bench.device.createStream();
  for (int round = 0; round < 20; ++round) {
    std::ranges::fill(it.memory, 1.0F);
    // The third one lies over both others.
    const Tensor parts[] = {part(0), part(128), part(64)};
    const std::shared_ptr<Stream> streams[] = {it.bench.stream, other, nullptr};
    const auto fusion = fusionOf(
        "fusion f(T0: f32[m, n]) -> T3 { T1 = add(T0, 1.0) T2 = add(T1, 1.0) T3 = add(T2, 1.0) } sizes { m = 128, n = "
        "256 }");
    fusion->aliasOutput(fusion->outputs()[0], asTensor(fusion->inputs()[0]), true);
    MultiDeviceExecutor update(*fusion, it.bench.device, {.lowering = {.grouping = Grouping::Single}});
    for (size_t i = 0; i < 3; ++i) update.runWithInput(std::vector<RunValue>{parts[i]}, {}, streams[i]);
    EXPECT_EQ(it.memory[0 * 256], 4.0F);
    EXPECT_EQ(it.memory[100 * 256], 7.0F);
    EXPECT_EQ(it.memory[180 * 256], 7.0F);
    parts[1].waitReady();
    EXPECT_EQ(it.memory[255 * 256], 4.0F);
  }
}

// More parts than are kept apart, on more streams than one.
TEST(CallsOnParts, OfOneTensorKeepTheirOrder) {
  RunBench bench;
  const auto fusion = fusionOf(
      "fusion f(T0: f32[m, n]) -> T3 { T1 = mul(T0, 2.0) T2 = add(T1, 1.0) T3 = mul(T2, 0.5) } sizes { m = 3, n = 512 "
      "}");
  fusion->aliasOutput(fusion->outputs()[0], asTensor(fusion->inputs()[0]), true);
  MultiDeviceExecutor update(*fusion, bench.device, {.lowering = {.grouping = Grouping::Single}});
  const std::shared_ptr<Stream> streams[] = {nullptr, bench.stream, bench.device.createStream(),
                                             bench.device.createStream()};
  const Tensor whole = bench.numbers(DataType::F32, {64, 512}, std::vector<double>(64 * 512, 0));
  std::vector<double> expected(64, 0);
  uint64_t state = 1;
  const auto drawn = [&] { return (state = state * 6364136223846793005U + 1442695040888963407U) >> 33U; };
  for (int64_t call = 0; call < 30 * repetitions(10); ++call) {
    const auto row = static_cast<int64_t>(drawn() % 62);
    update.runWithInput(std::vector<RunValue>{whole.slice(0, row, row + 3)}, {}, streams[drawn() % 4]);
    for (size_t r = 0; r < 3; ++r) {
      double& number = expected[static_cast<size_t>(row) + r];
      number = (2 * number + 1) * 0.5;
    }
  }
  const std::vector<double> found = numbersOf(whole);
  int64_t wrong = 0;
  for (size_t i = 0; i < found.size(); ++i) wrong += found[i] == expected[i / 512] ? 0 : 1;
  EXPECT_EQ(wrong, 0);
}

TEST(CallOrderAmongThreads, KeepsEveryUpdateOfOneTensor) {
  LongUpdate it;
  const Tensor shared = it.bench.numbers(DataType::F32, {256, 256}, std::vector<double>(256 * 256, 0));
  const auto update = [&](const std::shared_ptr<Stream>& stream) {
    const RunValue inputs[] = {shared};
    for (int i = 0; i < 20; ++i) it.executor->runWithInput(inputs, {}, stream);
  };
  std::thread first([&] { update(nullptr); });
  std::thread second([&] { update(it.bench.device.createStream()); });
  first.join();
  second.join();
  EXPECT_EQ(numbersOf(shared), std::vector<double>(256 * 256, 2 * 20 * 12));
}

TEST(FailuresOfCalls, AreRaisedToThoseWhoReadWhatTheyWrote) {
  LongUpdate it;
  const Tensor tensor = it.bench.numbers(DataType::F32, {256, 256}, std::vector<double>(256 * 256, 0));
  it.bench.device.callback(*it.bench.stream, [] { throw std::runtime_error("lost"); });
  const RunValue inputs[] = {tensor};
  it.executor->runWithInput(inputs, {}, it.bench.stream);
  EXPECT_THROW(tensor.hostData(), std::runtime_error);
  EXPECT_EQ(numbersOf(tensor), std::vector<double>(256 * 256, 0));
  it.executor->runWithInput(inputs, {}, it.bench.stream);
  EXPECT_EQ(numbersOf(tensor), std::vector<double>(256 * 256, 12));
}

}  // namespace
}  // namespace tokamak
