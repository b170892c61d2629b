// Scalars computed in kernels: every function of the table and every operation of the scalar language, on every type.
#include <iostream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "define/callables.h"
#include "host_run/run_bench.h"
#include "ir/text/fusion_parser.h"
#include "schedule/commands.h"
#include "symbolic/functions.h"

namespace tokamak {
namespace {

constexpr const char* kOperations[] = {
    "s + t",  "s - t",  "s * t", "min(s, t)", "max(s, t)", "s == t", "s != t",  "s < t",          "s <= t",
    "s && t", "s || t", "!s",    "s || 1",    "1 && s",    "s + 1",  "s < 0.5", "where(s, t, u)", "where(s < t, s, u)"};
constexpr const char* kDivisions[] = {"s / t", "ceilDiv(s, t)", "s % t"};

struct Program {
  std::string text;
  int64_t outputs = 0;
};

// A kernel with a reduction to which each expression is added; `extents`: the operands are extents.
Program programOf(DataType dtype, bool extents) {
  const auto typed = dataTypeName(dtype);
  std::vector<std::string> calls;
  for (const FunctionInfo& info : allFunctions()) {
    const auto types = functionTypes(info.id, dtype);
    if (!types || info.arity > 3) continue;
    constexpr const char* operands[] = {"s", "s, t", "s, t, u"};
    calls.push_back(fmt::format("function.{}({})", info.name, operands[info.arity - 1]));
  }
  for (const char* operation : kOperations) calls.emplace_back(operation);
  // The reference has none of floating scalars.
  for (const char* division : kDivisions) {
    if (!isFloatingType(dtype)) calls.emplace_back(division);
  }
  Program program;
  std::string body;
  std::string outputs;
  for (const std::string& call : calls) {
    const int64_t label = 2 + program.outputs++;
    body += fmt::format("  T{} = add(T1, f64({}))\n", label, call);
    outputs += fmt::format("{}T{}", outputs.empty() ? "" : ", ", label);
  }
  const std::string scalars = extents ? "" : fmt::format("s: {0}, t: {0}, u: {0}, ", typed);
  const std::string input = extents ? "T0: f64[s, t, u]" : "T0: f64[3, 4]";
  program.text = fmt::format("fusion f({}{}) -> ({}) {{\n  T1 = sum(T0, axes={})\n{}}}\n", scalars, input, outputs,
                             extents ? "[0, 2]" : "[1]", body);
  return program;
}

struct ScalarTriple {
  double s;
  double t;
  double u;
};

std::string differenceOf(const Program& program, DataType dtype, bool extents, const ScalarTriple& values,
                         Grouping grouping, KernelRunner runner) {
  RunBench bench({.threads = 2, .poisons_memory = true, .runner = runner});
  const auto fusion =
      parseFusion(program.text, "f", {.resolver = &definingResolver(), .scheduler = &scheduleCommands()});
  std::vector<RunValue> inputs;
  if (extents) {
    inputs.emplace_back(bench.random(DataType::F64, {3, 2, 5}, 1));
  } else {
    for (const double value : {values.s, values.t, values.u}) {
      if (isFloatingType(dtype))
        inputs.emplace_back(ScalarValue{value});
      else if (dtype == DataType::Bool)
        inputs.emplace_back(ScalarValue{value != 0});
      else
        inputs.emplace_back(ScalarValue{static_cast<int64_t>(value)});
    }
    inputs.emplace_back(bench.random(DataType::F64, {3, 4}, 1));
  }
  const auto reference = oracleInputsOf(inputs);
  MultiDeviceExecutor executor(*fusion, bench.device, {.lowering = {.grouping = grouping}});
  return differenceFromOracle(*fusion, reference, executor.runWithInput(inputs));
}

struct ScalarCase {
  const char* name;
  DataType dtype;
  bool extents = false;
};

class ScalarFunctions : public testing::TestWithParam<ScalarCase> {};

TEST_P(ScalarFunctions, AreTheSameInKernelsOpByOpAndInterpreted) {
  const auto [name, dtype, extents] = GetParam();
  const Program program = programOf(dtype, extents);
  EXPECT_GT(program.outputs, 40);
  // The last two are rounded where they enter a half type, and leave i32 where they are added or multiplied.
  constexpr ScalarTriple kValues[] = {{3, 2, 5}, {0.5, 0.25, 1}, {1, 3, 0.5}, {0.1, 1.0 / 3, 0.7}, {2147483647, 3, 2}};
  for (const ScalarTriple& values : kValues) {
    const bool is_whole = values.s == 3 || values.s == 2147483647;
    if (is_whole ? extents && values.s != 3 : !isFloatingType(dtype)) continue;
    SCOPED_TRACE(values.s);
    EXPECT_EQ(differenceOf(program, dtype, extents, values, Grouping::Single, KernelRunner::Compiled), "");
    EXPECT_EQ(differenceOf(program, dtype, extents, values, Grouping::Fused, KernelRunner::Compiled), "");
    EXPECT_EQ(differenceOf(program, dtype, extents, values, Grouping::Fused, KernelRunner::Interpreted), "");
  }
}

INSTANTIATE_TEST_SUITE_P(OfEveryType, ScalarFunctions,
                         testing::Values(ScalarCase{"f32", DataType::F32}, ScalarCase{"f64", DataType::F64},
                                         ScalarCase{"f16", DataType::F16}, ScalarCase{"bf16", DataType::BF16},
                                         ScalarCase{"i32", DataType::I32}, ScalarCase{"i64", DataType::I64},
                                         ScalarCase{"bool", DataType::Bool},
                                         ScalarCase{"extents", DataType::I64, true}),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace tokamak
