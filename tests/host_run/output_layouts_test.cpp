// Outputs lie in memory like the inputs that they follow, where nobody says otherwise (docs/layouts.md).
#include <algorithm>
#include <numeric>
#include <random>
#include <span>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "host/sanitized_share.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

using Strides = std::vector<int64_t>;

Strides stridesOf(const Tensor& tensor) { return {tensor.strides().begin(), tensor.strides().end()}; }

const CpuDeviceOptions kInterpreter = {.threads = 1, .poisons_memory = true, .runner = KernelRunner::Interpreted};
constexpr OutputLayouts kEitherLayouts[] = {OutputLayouts::Inferred, OutputLayouts::RowMajor};

std::vector<Tensor> run(MultiDeviceExecutor& executor, const Fusion& fusion, const std::vector<RunValue>& inputs) {
  const auto reference = oracleInputsOf(inputs);
  std::vector<Tensor> outputs = executor.runWithInput(inputs);
  EXPECT_EQ(differenceFromOracle(fusion, reference, outputs), "");
  return outputs;
}

Strides rowMajor(std::span<const int64_t> sizes) {
  Strides strides(sizes.size(), 1);
  for (size_t axis = sizes.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * sizes[axis];
  return strides;
}

struct Followed {
  std::string name;
  std::string program;
  Strides inferred;
};

// x is [2, 3, 4, 5] with its channels last: [n, h, w, c] in memory.
const std::string kChannelsLast = "fusion f(T0: f32[2, 3, 4, 5] stride_order(3, 0, 2, 1)";
const Strides kLikeX = {60, 1, 15, 3};

const std::vector<Followed> kFollowed = {
    {"Relu", kChannelsLast + ") -> T1 { T1 = relu(T0) }", kLikeX},
    {"SumOfPerChannelBias", kChannelsLast + ", T2: f32[3, 1, 1]) -> T1 { T1 = add(T2, T0) }", kLikeX},
    {"WithAFactoryInFront",
     kChannelsLast + ") -> T3 { T1 = full(shape=[2, 3, 4, 5], value=2.0, dtype=f32) T3 = mul(T1, T0) }", kLikeX},
    {"OverTwoKernels",
     kChannelsLast + ") -> T3 { T1 = softmax(T0, axis=1) T2 = sum(T1, axes=[2, 3], keepdim=true) "
                     "T3 = div(T1, T2) }",
     kLikeX},
    {"OfARowMajorOperandInFront", kChannelsLast + ", T1: f32[2, 3, 4, 5]) -> T2 { T2 = add(T1, T0) }", {60, 20, 5, 1}},
    {"ARequirement",
     kChannelsLast + ") -> T1 { T1: f32[2, 3, 4, 5] stride_order(3, 2, 1, 0) = relu(T0) }",
     {60, 20, 5, 1}},
    {"AProduct",
     "fusion f(T0: f32[4, 6] stride_order(0, 1), T1: f32[6, 8] stride_order(0, 1)) -> T2 { T2 = "
     "matmul(T0, T1) }",
     {8, 1}},
    {"WhatFollowsAProduct",
     "fusion f(T0: f32[4, 6] stride_order(0, 1), T1: f32[6, 8]) -> T2 { T2 = relu(matmul(T0, "
     "T1)) }",
     {8, 1}},
    {"WhatAProductReads",
     "fusion f(T0: f32[4, 6] stride_order(0, 1), T1: f32[6, 8]) -> T2 { T2 = matmul(relu(T0), "
     "T1) }",
     {8, 1}},
};

class OutputLayout : public testing::TestWithParam<Followed> {};

TEST_P(OutputLayout, IsInferredUnlessRowMajorIsAskedFor) {
  RunBench bench(kInterpreter);
  const auto fusion = fusionOf(GetParam().program);
  const std::vector<RunValue> inputs = bench.inputsOf(*fusion);
  for (const OutputLayouts layouts : kEitherLayouts) {
    MultiDeviceExecutor executor(*fusion, bench.device, {.lowering = {.output_layouts = layouts}, .evaluator = {}});
    const Tensor output = run(executor, *fusion, inputs)[0];
    EXPECT_EQ(stridesOf(output), layouts == OutputLayouts::Inferred ? GetParam().inferred : rowMajor(output.sizes()));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, OutputLayout, testing::ValuesIn(kFollowed),
                         [](const auto& instance) { return instance.param.name; });

TEST(OutputLayoutHint, GivesWayToGivenMemory) {
  RunBench bench(kInterpreter);
  const auto fusion = fusionOf(kFollowed[0].program);
  const std::vector<RunValue> inputs = bench.inputsOf(*fusion);
  MultiDeviceExecutor executor(*fusion, bench.device, {});
  for (const Strides& strides : {Strides{60, 20, 5, 1}, kLikeX, Strides{1, 2, 30, 6}}) {
    const Tensor given = bench.empty(DataType::F32, {2, 3, 4, 5}, strides);
    const std::vector<Tensor> outputs = executor.runWithInput(inputs, std::vector{given});
    EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), outputs), "");
    EXPECT_EQ(outputs[0].data(), given.data());
  }
}

// Programs of a few ops over inputs in random orders.
std::string randomProgram(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](size_t bound) { return static_cast<size_t>(random() % bound); };
  const size_t rank = 2 + below(3);
  std::vector<int64_t> sizes;
  for (size_t axis = 0; axis < rank; ++axis) sizes.push_back(static_cast<int64_t>(1 + below(6)));
  std::string text = "fusion f(";
  const size_t inputs = 1 + below(3);
  for (size_t i = 0; i < inputs; ++i) {
    std::vector<int64_t> order(rank);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random);
    std::vector<int64_t> extents = sizes;
    for (int64_t& extent : extents) extent = below(6) == 0 ? 1 : extent;
    text += fmt::format("{}T{}: f32[{}] stride_order({})", i == 0 ? "" : ", ", i, joined(extents), joined(order));
  }
  std::string body;
  std::vector<std::string> outputs;
  size_t next = inputs;
  const auto any = [&] { return fmt::format("T{}", below(next)); };
  for (size_t ops = 1 + below(6); ops > 0; --ops) {
    std::string op;
    switch (below(7)) {
      case 0: op = fmt::format("relu({})", any()); break;
      case 1: op = fmt::format("sum({}, axes=[{}], keepdim=true)", any(), below(rank)); break;
      case 2: op = fmt::format("softmax({}, axis={})", any(), below(rank)); break;
      case 3: op = fmt::format("full(shape=[{}], value=0.5, dtype=f32)", joined(sizes)); break;
      default: op = fmt::format("add({}, {})", any(), any()); break;
    }
    body += fmt::format("  T{} = {}\n", next, op);
    if (below(2) == 0 || ops == 1) outputs.push_back(fmt::format("T{}", next));
    ++next;
  }
  if (below(3) == 0) {
    std::vector<size_t> order(rank);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random);
    body += fmt::format("  T{} = permute(T{}, order=[{}])\n", next, next - 1, joined(order));
    outputs.push_back(fmt::format("T{}", next));
  }
  return fmt::format("{}) -> ({}) {{\n{}}}", text, joined(outputs), body);
}

TEST(RandomLayout, OfInputsGivesTheReferencesResultsInEitherLayoutOfOutputs) {
  RunBench bench(kInterpreter);
  int differ = 0;
  for (uint64_t seed = 0; seed < 600 / kShare; ++seed) {
    const std::string text = randomProgram(seed);
    SCOPED_TRACE(text);
    const auto fusion = fusionOf(text);
    const std::vector<RunValue> inputs = bench.inputsOf(*fusion);
    std::vector<Strides> strides[2];
    for (const OutputLayouts layouts : kEitherLayouts) {
      MultiDeviceExecutor executor(*fusion, bench.device, {.lowering = {.output_layouts = layouts}, .evaluator = {}});
      for (const Tensor& output : run(executor, *fusion, inputs)) {
        strides[static_cast<size_t>(layouts)].push_back(stridesOf(output));
      }
    }
    differ += strides[0] != strides[1] ? 1 : 0;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(differ, 100 / kShare);
}

}  // namespace
}  // namespace tokamak
