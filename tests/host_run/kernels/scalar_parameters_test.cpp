// Scalar inputs: a plan serves all values of those that only give values to elements; the others are part of its key.
#include <array>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "host_run/counting_heap.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"
#include "runtime/cpu/stream_edges.h"

namespace tokamak {
namespace {

MultiDeviceExecutor parameterExecutorOf(const Fusion& fusion, RunBench& bench, Mode mode = Mode::Plan) {
  return MultiDeviceExecutor(fusion, bench.device,
                             {.lowering = {.grouping = Grouping::Single}, .evaluator = {.mode = mode}});
}

std::vector<RunValue> withScalars(std::vector<RunValue> tensors, const std::vector<ScalarValue>& scalars) {
  for (const ScalarValue& scalar : scalars) tensors.emplace_back(scalar);
  return tensors;
}

const char* const kStreamed =
    "fusion f(T0: f32[i0, 64], a: f32, b: f32) -> T3 { T1 = mul(T0, a) T2 = add(T1, b) T3 = mul(T2, (a * 2 + b)) } "
    "sizes { i0 = 37 } schedule { split(T3, axis=0, factor=4) parallelize(T3, axis=0, type=Stream) propagate(T3) }";

TEST(ScalarParameters, AnotherValueRunsTheSamePlan) {
  RunBench bench;
  const auto fusion = fusionOf(kStreamed);
  MultiDeviceExecutor executor = parameterExecutorOf(*fusion, bench);
  const std::vector<RunValue> tensors = {bench.random(DataType::F32, {37, 64}, 1)};
  const Plan* plan = nullptr;
  // Calls are in flight together, each with its own values.
  std::vector<std::vector<Tensor>> outputs;
  for (int call = 0; call < 8; ++call) {
    const auto values = withScalars(tensors, {0.5 + call, 3.0 - call});
    const Plan& now = executor.planFor(values);
    EXPECT_TRUE(plan == nullptr || plan == &now) << "call " << call;
    plan = &now;
    outputs.push_back(executor.runWithInput(values));
  }
  for (int call = 0; call < 8; ++call) {
    const auto values = withScalars(tensors, {0.5 + call, 3.0 - call});
    EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(values), outputs[static_cast<size_t>(call)]), "");
  }
  EXPECT_EQ(plan->parameters().size(), 3U);
  EXPECT_NE(plan->toString().find(" a\n"), std::string::npos) << plan->toString();
}

// The same bits as when the value is known while the work is prepared.
TEST(ScalarParameters, GiveTheBitsOfDirectRuns) {
  struct Case {
    std::string fusion;
    std::vector<ScalarValue> values;
  };
  const std::vector<ScalarValue> reals = {0.0, -0.0, 1.0 / 3, 65504.0, 65520.0, 1e-7, -2.5, 1e300, NAN, INFINITY};
  const std::vector<ScalarValue> integers = {int64_t{0}, int64_t{-1}, int64_t{1} << 40, int64_t{2147483648}};
  const std::vector<ScalarValue> truths = {true, false};
  std::vector<Case> cases;
  for (const std::string dtype : {"f64", "f32", "f16", "bf16", "i32", "i64", "bool"}) {
    const auto full = [&](const std::string& scalar) {
      return fmt::format("fusion f(v: {}) -> T0 {{ T0 = full(shape=[5], value=v, dtype={}) }}", scalar, dtype);
    };
    cases.push_back({full("f64"), reals});
    cases.push_back({full("f32"), reals});
    cases.push_back({full("f16"), reals});
    cases.push_back({full("i64"), integers});
    cases.push_back({full("i32"), integers});
    cases.push_back({full("bool"), truths});
  }
  for (const Case& it : cases) {
    RunBench bench;
    const auto fusion = fusionOf(it.fusion);
    MultiDeviceExecutor planned = parameterExecutorOf(*fusion, bench);
    const Plan* plan = nullptr;
    for (const ScalarValue& value : it.values) {
      const std::vector<RunValue> values = {value};
      EXPECT_TRUE(plan == nullptr || plan == &planned.planFor(values)) << it.fusion;
      plan = &planned.planFor(values);
      MultiDeviceExecutor direct = parameterExecutorOf(*fusion, bench, Mode::Direct);
      EXPECT_EQ(bytesOf(planned.runWithInput(values).at(0)), bytesOf(direct.runWithInput(values).at(0)))
          << it.fusion << " value " << asDouble(value);
    }
  }
}

TEST(ScalarParameters, OfAPadDoNotMakePlansAndItsWidthsDo) {
  RunBench bench;
  const auto fusion =
      fusionOf("fusion f(T0: f32[i0], v: f32, w: i64) -> T1 { T1 = pad(T0, widths=[w, 1], value=v) } sizes { i0 = 5 }");
  MultiDeviceExecutor executor = parameterExecutorOf(*fusion, bench);
  const std::vector<RunValue> tensors = {bench.random(DataType::F32, {5}, 1)};
  const auto check = [&](double value, int64_t width) -> const Plan* {
    const auto values = withScalars(tensors, {value, width});
    EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(values), executor.runWithInput(values)), "");
    return &executor.planFor(values);
  };
  const Plan* first = check(1.5, 2);
  EXPECT_EQ(check(-3, 2), first);
  const Plan* wider = check(1.5, 4);
  EXPECT_NE(wider, first);
  EXPECT_EQ(check(7, 4), wider);
}

TEST(ScalarParameters, ThatAlsoSteerAnExtentMakePlans) {
  RunBench bench;
  const auto fusion = fusionOf("fusion f(n: i64) -> T0 { T0 = full(shape=[n], value=n, dtype=i64) }");
  MultiDeviceExecutor executor = parameterExecutorOf(*fusion, bench);
  for (const int64_t n : {3, 5}) {
    const std::vector<RunValue> values = {ScalarValue{n}};
    EXPECT_EQ(numbersOf(executor.runWithInput(values).at(0)),
              std::vector<double>(static_cast<size_t>(n), static_cast<double>(n)));
  }
}

TEST(ScalarParameters, ThatAreMissingAreNamedThoughAPlanIsThere) {
  RunBench bench;
  const auto fusion = fusionOf("fusion f(T0: f32[i0], v: f32) -> T1 { T1 = mul(T0, v) }");
  HostIrEvaluator evaluator(lowerToHostProgram(*fusion, {.grouping = Grouping::Single}), bench.device);
  const std::vector<RunValue> inputs = {bench.random(DataType::F32, {5}, 1), ScalarValue{2.0}};
  auto values = bound(evaluator.program(), inputs);
  evaluator.runWithInput(values);
  values.pop_back();
  EXPECT_EQ(refusalOf([&] { evaluator.runWithInput(values); }), "bind: input v is missing");
}

#ifndef TK_THREAD_SANITIZER
TEST(ScalarParameters, OfTheHotEntryTakeNothingFromTheHeap) {
  RunBench bench;
  const auto fusion = fusionOf(kStreamed);
  MultiDeviceExecutor executor = parameterExecutorOf(*fusion, bench);
  const std::vector<Tensor> inputs = {bench.random(DataType::F32, {37, 64}, 1)};
  std::vector<Tensor> outputs = {bench.empty(DataType::F32, {37, 64})};
  std::array<ScalarValue, 2> scalars = {0.0, 0.0};
  const auto run = [&](int call) {
    scalars = {0.25 * call, 1.0};
    executor.evaluator().run(inputs, outputs, *bench.stream, scalars);
    bench.device.synchronize(*bench.stream);
  };
  for (int call = 0; call < 5; ++call) run(call);
  const int64_t before = heapRequests();
  for (int call = 0; call < 100; ++call) run(call);
  EXPECT_EQ(heapRequests() - before, 0);
  const auto values = withScalars({inputs[0]}, {scalars[0], scalars[1]});
  EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(values), outputs), "");
  EXPECT_EQ(refusalOf([&] { executor.evaluator().run(inputs, outputs, *bench.stream); }),
            "bind: run: 0 scalars given; the program takes 2");
}
#endif

}  // namespace
}  // namespace tokamak
