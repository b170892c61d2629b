// Outputs that the caller gives: every op writes into that memory, whatever its strides, and the same memory comes
// back.
#include <algorithm>

#include <gtest/gtest.h>

#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

struct GivenOutput {
  std::string name;
  std::string fusion;
};

std::ostream& operator<<(std::ostream& out, const GivenOutput& c) { return out << c.name; }

GivenOutput binary(const std::string& op) {
  return {op, "fusion f(T0: f32[i0, i2], T1: f32[i0, i2]) -> T2 { T2 = " + op + "(T0, T1) } sizes { i0 = 5, i2 = 7 }"};
}
GivenOutput reduction(const std::string& op) {
  return {op, "fusion f(T0: f32[i0, i2, i3]) -> T1 { T1 = " + op + "(T0, axes=[1]) } sizes { i0 = 5, i2 = 6, i3 = 7 }"};
}
GivenOutput linear(const std::string& name, const std::string& bias) {
  return {name, "fusion f(T0: f32[m, k], T1: f32[n, k], T2: f32[n]) -> T3 { T3 = linear(T0, T1" + bias +
                    ") } sizes { m = 5, k = 6, n = 7 }"};
}

const GivenOutput kGivenOutputs[] = {
    {"set", "fusion f(T0: f32[i0, i2]) -> T1 { T1 = set(T0) } sizes { i0 = 5, i2 = 7 }"},
    {"permute", "fusion f(T0: f32[i0, i2]) -> T1 { T1 = permute(T0, order=[1, 0]) } sizes { i0 = 7, i2 = 5 }"},
    {"exp", "fusion f(T0: f32[i0, i2]) -> T1 { T1 = exp(T0) } sizes { i0 = 5, i2 = 7 }"},
    {"cast", "fusion f(T0: f32[i0, i2]) -> T1 { T1 = cast(T0, dtype=bf16) } sizes { i0 = 5, i2 = 7 }"},
    binary("add"),
    binary("sub"),
    binary("mul"),
    binary("div"),
    reduction("sum"),
    reduction("max"),
    reduction("min"),
    {"matmul", "fusion f(T0: f32[m, k], T1: f32[k, n]) -> T2 { T2 = matmul(T0, T1) } sizes { m = 5, k = 6, n = 7 }"},
    linear("linear", ""),
    linear("linear_with_bias", ", bias=T2"),
};

// A shape with the strides of a destination: dense, transposed, with gaps in both axes.
struct Layout {
  std::string name;
  std::vector<int64_t> strides;
};
const Layout kLayouts[] = {{"dense", {7, 1}}, {"transposed", {1, 5}}, {"gaps", {23, 3}}, {"rows_apart", {16, 1}}};

class GivenOutputs : public testing::TestWithParam<GivenOutput> {};

// The bytes of the destination's buffer that are not elements must stay as they were.
void expectGapsUntouched(const Tensor& tensor) {
  const auto* bytes = static_cast<const unsigned char*>(tensor.buffer()->address());
  std::vector<bool> is_element(static_cast<size_t>(tensor.buffer()->bytes()), false);
  for (int64_t i = 0; i < tensor.size(0); ++i) {
    for (int64_t j = 0; j < tensor.size(1); ++j) {
      const int64_t first = (i * tensor.strides()[0] + j * tensor.strides()[1]) * sizeOf(tensor.dtype());
      for (int64_t b = 0; b < sizeOf(tensor.dtype()); ++b) is_element[static_cast<size_t>(first + b)] = true;
    }
  }
  for (size_t b = 0; b < is_element.size(); ++b) {
    if (is_element[b]) continue;
    ASSERT_EQ(bytes[b], 0xFF) << "byte " << b;
  }
}

TEST_P(GivenOutputs, AreWrittenAndGivenBack) {
  RunBench bench;
  const auto fusion = fusionOf(GetParam().fusion);
  const std::vector<RunValue> inputs = bench.inputsOf(*fusion);
  const auto reference = oracleInputsOf(inputs);
  for (const Mode mode : {Mode::Plan, Mode::Direct}) {
    // As written, so that the op itself meets known and unknown outputs; and as lowered.
    HostIrEvaluator plain(makeHostProgram(*fusion, {.grouping = Grouping::Single}), bench.device, {.mode = mode});
    HostIrEvaluator lowered(lowerToHostProgram(*fusion, {.grouping = Grouping::Single}), bench.device, {.mode = mode});
    for (HostIrEvaluator* evaluator : {&plain, &lowered}) {
      for (const Layout& layout : kLayouts) {
        SCOPED_TRACE(layout.name + ", mode " + std::to_string(static_cast<int>(mode)));
        Tensor given = bench.empty(fusion->outputs()[0]->dtype(), {5, 7}, layout.strides);
        auto values = bound(evaluator->program(), inputs);
        values.emplace_back(evaluator->program().outputs()[0], given);
        const std::vector<Tensor> outputs = evaluator->runWithInput(values);
        EXPECT_EQ(differenceFromOracle(*fusion, reference, outputs), "");
        EXPECT_EQ(outputs.at(0).data(), given.data());
        EXPECT_TRUE(std::ranges::equal(outputs.at(0).strides(), layout.strides));
        expectGapsUntouched(given);
      }
      const std::vector<Tensor> outputs = evaluator->runWithInput(bound(evaluator->program(), inputs));
      EXPECT_EQ(differenceFromOracle(*fusion, reference, outputs), "") << "with no output given";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, GivenOutputs, testing::ValuesIn(kGivenOutputs),
                         [](const auto& instance) { return instance.param.name; });

TEST(GivenOutput, MayBeStreamedInto) {
  RunBench bench;
  const auto fusion = fusionOf(
      "fusion f(T0: f32[i0, i2]) -> T2 { T1 = exp(T0) T2 = neg(T1) } sizes { i0 = 5, i2 = 7 } "
      "schedule { parallelize(T2, axis=0, type=Stream) propagate(T2) }");
  const std::vector<RunValue> inputs = bench.inputsOf(*fusion);
  for (const Mode mode : {Mode::Plan, Mode::Direct}) {
    MultiDeviceExecutor executor(*fusion, bench.device,
                                 {.lowering = {.grouping = Grouping::Single}, .evaluator = {.mode = mode}});
    const Tensor given[] = {bench.empty(DataType::F32, {5, 7}, {23, 3})};
    const std::vector<Tensor> outputs = executor.runWithInput(inputs, given);
    EXPECT_EQ(outputs.at(0).data(), given[0].data());
    EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), outputs), "");
    expectGapsUntouched(given[0]);
  }
}

TEST(GivenOutput, SomeGivenAndSomeNot) {
  RunBench bench;
  const auto fusion =
      fusionOf("fusion f(T0: f32[i0]) -> (T1, T2, T3) { T1 = exp(T0) T2 = neg(T1) T3 = add(T1, T2) } sizes { i0 = 5 }");
  const std::vector<RunValue> inputs = bench.inputsOf(*fusion);
  for (const Mode mode : {Mode::Plan, Mode::Direct}) {
    MultiDeviceExecutor executor(*fusion, bench.device,
                                 {.lowering = {.grouping = Grouping::Single}, .evaluator = {.mode = mode}});
    for (int given_number = 0; given_number < 3; ++given_number) {
      std::vector<Tensor> given(3);
      given[static_cast<size_t>(given_number)] = bench.empty(DataType::F32, {5});
      const std::vector<Tensor> outputs = executor.runWithInput(inputs, given);
      EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), outputs), "");
      EXPECT_EQ(outputs[static_cast<size_t>(given_number)].data(), given[static_cast<size_t>(given_number)].data());
    }
  }
}

TEST(SetWithoutADestination, BindsItsOperand) {
  RunBench bench;
  const HostText text{{"T0_g_float[iS0{i0}]", "T1_g_float[iS1{i0}]", "T2_g_float[iS2{i0}]"},
                      "(@T0) -> (@T2)",
                      "  @T1 = Set( @T0 )\n  @T2 = @T1 * float(3);\n"};
  const Tensor in = bench.numbers(DataType::F32, {3}, {1, 2, 3});
  HostIrEvaluator evaluator(finishedProgramOf(text), bench.device);
  const PlanSummary summary = evaluator.planFor(bound(evaluator.program(), {in})).summary();
  EXPECT_EQ(summary.steps, 1);  // the product alone
  EXPECT_EQ(summary.arena_bytes, 0);
  EXPECT_EQ(numbersOf(evaluator.runWithInput(bound(evaluator.program(), {in})).at(0)), (std::vector<double>{3, 6, 9}));
}

TEST(SetWithoutADestination, OfAnOutputIsAllocatedByTheLowering) {
  RunBench bench;
  const auto fusion = fusionOf("fusion f(T0: f32[i0]) -> T1 { T1 = set(T0) } sizes { i0 = 3 }");
  const std::vector<RunValue> inputs = bench.inputsOf(*fusion);
  for (const Mode mode : {Mode::Plan, Mode::Direct}) {
    MultiDeviceExecutor executor(*fusion, bench.device,
                                 {.lowering = {.grouping = Grouping::Single}, .evaluator = {.mode = mode}});
    EXPECT_NE(executor.runWithInput(inputs).at(0).data(), std::get<Tensor>(inputs[0]).data());
  }
}

}  // namespace
}  // namespace tokamak
