// segments: ops merged into one statement give the same values as one by one.
#include <gtest/gtest.h>

#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

struct SegmentCase {
  std::string name;
  std::string fusion;
};

std::ostream& operator<<(std::ostream& out, const SegmentCase& c) { return out << c.name; }

const SegmentCase kSegmentCases[] = {
    {"pointwise",
     "fusion f(T0: f32[i0, i2]) -> T3 { T1 = exp(T0) T2 = neg(T1) T3 = add(T2, T0) } sizes { i0 = 5, i2 = 7 }"},
    {"softmax", "fusion f(T0: f32[i0, i2]) -> T1 { T1 = softmax(T0) } sizes { i0 = 5, i2 = 7 }"},
    {"layer_norm",
     "fusion f(T0: f32[i0, i2], T1: f32[i2], T2: f32[i2]) -> T3 { T3 = layer_norm(T0, weight=T1, bias=T2) } sizes { i0 "
     "= 5, i2 = 7 }"},
    {"around_a_product",
     "fusion f(T0: f32[m, k], T1: f32[n, k]) -> T5 { T2 = exp(T0) T3 = neg(T2) T4 = linear(T3, T1) T5 = gelu(T4) } "
     "sizes { m = 5, k = 6, n = 7 }"},
    {"two_outputs",
     "fusion f(T0: f32[i0]) -> (T1, T3) { T1 = exp(T0) T2 = neg(T1) T3 = add(T2, T0) } sizes { i0 = 5 }"},
    {"position_and_size",
     "fusion f(T0: i64[i0]) -> T3 { T1 = iota(i0) T2 = add(T0, T1) T3 = mul(T2, T1) } sizes { i0 = 9 }"},
    {"set_inside", "fusion f(T0: f32[i0]) -> T3 { T1 = exp(T0) T2 = set(T1) T3 = neg(T2) } sizes { i0 = 5 }"},
    {"streamed_segment",
     "fusion f(T0: f32[i0, i2]) -> T3 { T1 = exp(T0) T2 = neg(T1) T3 = add(T2, T0) } sizes { i0 = 10, i2 = 7 } "
     "schedule { split(T3, axis=0, factor=3) parallelize(T3, axis=0, type=Stream) propagate(T3) }"},
    {"streamed_softmax",
     "fusion f(T0: f32[i0, i2]) -> T1 { T1 = softmax(T0) } sizes { i0 = 10, i2 = 7 } "
     "schedule { parallelize(T1, axis=0, type=Stream) propagate(T1) }"},
    {"streamed_mlp",
     "fusion f(T0: f32[rows, model], T1: f32[hidden, model], T2: f32[model, hidden]) -> T5 { T3 = linear(T0, T1) T4 = "
     "gelu(T3) T5 = linear(T4, T2) } "
     "sizes { rows = 10, model = 6, hidden = 8 } schedule { split(T5, axis=0, factor=4) parallelize(T5, axis=0, "
     "type=Stream) propagate(T5) }"},
};

class HostSegments : public testing::TestWithParam<SegmentCase> {};

TEST_P(HostSegments, GiveTheBitsOfSingleOps) {
  RunBench bench;
  const auto fusion = fusionOf(GetParam().fusion);
  const std::vector<RunValue> inputs = bench.inputsOf(*fusion);
  std::vector<std::byte> expected;
  for (const Grouping grouping : {Grouping::Single, Grouping::Segments}) {
    for (const Mode mode : {Mode::Plan, Mode::Direct}) {
      HostLoweringOptions lowering{.grouping = Grouping::Single};
      lowering.grouping = grouping;
      MultiDeviceExecutor executor(*fusion, bench.device, {.lowering = lowering, .evaluator = {.mode = mode}});
      for (int call = 0; call < 2; ++call) {
        const std::vector<Tensor> outputs = executor.runWithInput(inputs);
        EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), outputs), "");
        if (expected.empty()) expected = bytesOf(outputs.at(0));
        EXPECT_EQ(bytesOf(outputs.at(0)), expected);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, HostSegments, testing::ValuesIn(kSegmentCases),
                         [](const auto& instance) { return instance.param.name; });

TEST(HostSegment, MayUseScalarsOfTheProgram) {
  RunBench bench;
  const auto fusion = fusionOf("fusion f(T0: f32[i0], factor: f32) -> T2 { T1 = mul(T0, factor) T2 = neg(T1) }");
  const std::vector<RunValue> inputs = {bench.numbers(DataType::F32, {2}, {1, 2}), ScalarValue{3.0}};
  for (const Grouping grouping : {Grouping::Single, Grouping::Segments}) {
    for (const Mode mode : {Mode::Plan, Mode::Direct}) {
      HostLoweringOptions lowering{.grouping = Grouping::Single};
      lowering.grouping = grouping;
      MultiDeviceExecutor executor(*fusion, bench.device, {.lowering = lowering, .evaluator = {.mode = mode}});
      EXPECT_EQ(numbersOf(executor.runWithInput(inputs).at(0)), (std::vector<double>{-3, -6}));
    }
  }
}

TEST(HostSegment, MayHaveSizesThatNoneOfItsInputsHas) {
  RunBench bench;
  const auto fusion = fusionOf(
      "fusion f(T0: f32[m, k], T1: f32[k, n]) -> T6 { T2 = matmul(T0, T1) T3 = full([m, n], 2.0) T4 = neg(T3) T5 = "
      "set(T4) T6 = matmul(T2, permute(T5, order=[1, 0])) } "
      "sizes { m = 3, k = 4, n = 5 }");
  const std::vector<RunValue> inputs = bench.inputsOf(*fusion);
  for (const Grouping grouping : {Grouping::Single, Grouping::Segments}) {
    HostLoweringOptions lowering{.grouping = Grouping::Single};
    lowering.grouping = grouping;
    MultiDeviceExecutor executor(*fusion, bench.device, {.lowering = lowering, .evaluator = {}});
    EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), executor.runWithInput(inputs)), "");
  }
}

}  // namespace
}  // namespace tokamak
