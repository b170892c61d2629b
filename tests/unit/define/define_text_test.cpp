// Texts that call functions beyond the ops, with schedules: read with the resolvers of define/ and schedule/, printed,
// read back.
#include <algorithm>
#include <regex>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/text.h"
#include "define/callables.h"
#include "define/op_reference.h"
#include "host/sanitized_share.h"
#include "ir/equal.h"
#include "ir/text/fusion_parser.h"
#include "ir/text/fusion_printer.h"
#include "loop_text.h"
#include "program_of.h"
#include "schedule/commands.h"

namespace tokamak {
namespace {

class DefineText : public testing::TestWithParam<std::string_view> {};

TEST_P(DefineText, ReadsBackWhatItPrints) {
  const auto fusion = fusionFrom(GetParam());
  const std::string printed = printFusion(*fusion);
  const auto again = fusionFrom(printed);
  EXPECT_EQ(firstDifference(*fusion, *again), "") << printed;
  EXPECT_EQ(printFusion(*again), printed);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, DefineText,
    testing::Values(
        "fusion f(T0: bf16[i0, i2]) -> T1 { T1 = softmax(T0) }",
        "fusion f(T0: bf16[i0, i2]) -> T1 { T1 = cast(softmax(T0, axis=0), dtype=bf16)  }\n"
        "schedule { split(T1, axis=0, factor=128) parallelize(T1, axis=0, type=Stream) propagate(T1) }",
        "fusion f(T0: f32[i0, 8], T1: f32[8]) -> T2 { T2 = layer_norm(T0, T1, eps=1e-6) }",
        "fusion f(T0: f16[4, i0], T1: i64[i0]) -> T2 { T2 = where(lt(T1, 3), mul(T0, 0.5), 0) }",
        "fusion f(T0: f32[i0, 6]) -> T1 { T1 = gelu(reshape(T0, [-1, 3])) }",
        "fusion f(T0: f32[i0, 6]) -> T1 { T1 = var(T0, axes=[1], keepdim=true) }",
        "fusion f(T0: i32[i0, 1]) -> T1 { T1 = sum(expand(T0, [-1, 5])) }",
        "fusion f(T0: bf16[2, 8, 16]) -> T1 { T1 = attention(T0, T0, T0, is_causal=true) }",
        "fusion f(T0: f32[i0, i1, 4], T1: f32[4, 5]) -> T2 { T2 = matmul(T0, T1) }\n"
        "schedule { merge(T2, axis=0) outer_split(T2, axis=0, factor=4) parallelize(T2, axis=0, type=Stream) }"));

TEST(DefineTextSchedule, TheExampleOfADesignIsMarkedThroughout) {
  const auto fusion = fusionFrom(R"(
fusion softmax(T0: bf16[i0, i2]) -> T7 {
  T1 = cast(T0, dtype=f32)
  T2 = max(T1, axes=[1], keepdim=true)
  T3 = sub(T1, T2)
  T4 = exp(T3)
  T5 = sum(T4, axes=[1], keepdim=true)
  T6 = div(T4, T5)
  T7 = cast(T6, dtype=bf16)
}
schedule {
  split(T7, axis=0, factor=128)
  parallelize(T7, axis=0, type=Stream)
  propagate(T7)
})");
  EXPECT_EQ(describe(*fusion->outputs()[0]), "bf16[i0, i2]");
  for (const Expr* expr : fusion->exprs())
    EXPECT_TRUE(asTensor(expr->output(0))->axis(0)->isStream()) << callName(*expr);
}

// What the program prints must read back as the same program with the same text, op by op and through the functions
// that users call. Gives what is wrong, or nothing.
std::string whatReadsBackWrongly(const Fusion& fusion) {
  const std::string printed = printFusion(fusion);
  const std::pair<std::string_view, const CallResolver*> readers[] = {{"the ops", &opResolver()},
                                                                      {"the functions", &definingResolver()}};
  for (const auto& [name, resolver] : readers) {
    try {
      const auto again = parseFusion(printed, "again.fusion", {.resolver = resolver});
      const std::string difference = firstDifference(fusion, *again);
      if (!difference.empty() || printFusion(*again) != printed)
        return fmt::format("{} read it as {}: {}{}", name, printFusion(*again), difference, printed);
    } catch (const Error& error) {
      return fmt::format("{} refuse it: {}\n{}", name, error.what(), printed);
    }
  }
  return {};
}

std::string withTypes(std::string_view inputs, DataType dtype) {
  static const std::regex example_type("\\bf32\\b");
  return std::regex_replace(std::string(inputs), example_type, std::string(dataTypeName(dtype)));
}

// The example's inputs, with their sizes as one, none, as symbols, repeated, and without axes.
std::vector<std::string> withShapes(const std::string& inputs) {
  static const std::regex size("\\d+(?=[,\\]])");
  static const std::regex shape("\\[[^\\]]*\\]");
  std::vector<std::string> all = {inputs, std::regex_replace(inputs, shape, "[]")};
  for (const char* form : {"1", "0", "n$&", "1 ex $&"}) all.push_back(std::regex_replace(inputs, size, form));
  return all;
}

// The example's call, with each number and each operand of an elementwise function as other literals, and with
// attributes.
std::vector<std::string> withArguments(const std::string& call) {
  static const std::regex number("([ =(\\[])(-?\\d+(?:\\.\\d+)?|[yzw])(?=[,)\\]])");
  std::vector<std::string> all = {call};
  for (std::sregex_iterator found(call.begin(), call.end(), number), end; found != end; ++found) {
    for (const char* literal : {"0", "1", "-1", "0.5", "-0.1", "-0.0", "inf", "nan", "0.1_f64", "-0.1_f32", "1.0_f16",
                                "-inf_bf16", "-1_i64", "1_i32", "-1_i32", "true", "false", "a_float", "an_integer"}) {
      all.push_back(call.substr(0, static_cast<size_t>(found->position(2))) + literal +
                    std::string(found->suffix().first, call.end()));
    }
  }
  for (const char* attribute : {"keepdim=true", "axis=-1", "axis=0", "dtype=f64", "dtype=f32", "dtype=f16",
                                "dtype=bf16", "dtype=i64", "dtype=i32", "dtype=bool"}) {
    all.push_back(fmt::format("{}, {})", call.substr(0, call.rfind(')')), attribute));
  }
  return all;
}

TEST(DefineTextForms, AReductionWithAWrittenTypeTakesAllAxesByDefault) {
  for (const char* call : {"max(x)", "max(x, axes=[])", "sum(x)"}) {
    const auto fusion = fusionFrom(fmt::format("fusion f(x: f32[a, b]) -> y {{ y: f32[] = {} }}", call));
    EXPECT_EQ(whatReadsBackWrongly(*fusion), "");
  }
}

TEST(DefineTextForms, EveryFormOfEveryCallReadsBackAsItself) {
  int64_t accepted = 0;
  std::vector<std::string> wrong;
  int64_t next = 0;
  const auto check = [&](const std::string& program) {
    if (++next % kShare != 0) return;
    std::unique_ptr<Fusion> fusion;
    try {
      fusion = fusionFrom(program);
    } catch (const Error&) {
      return;  // the functions refuse this form
    }
    ++accepted;
    const std::string what = whatReadsBackWrongly(*fusion);
    if (!what.empty()) wrong.push_back(program + what);
  };
  for (const Callable& callable : allCallables()) {
    const OpReference& reference = *findReference(callable.name);
    const std::string program = exampleProgram(reference, "");
    const size_t start = program.find("{\n") + 2;
    const std::string call = program.substr(start, program.rfind("\n}") - start);
    const std::string outputs = call.substr(0, call.find(" = "));
    const int64_t before = accepted;
    for (const DataType dtype : kAllDataTypes) {
      const auto check_call = [&](std::string_view inputs, std::string_view form) {
        check(fmt::format("fusion f({}{}a_float: f32, an_integer: i64) -> ({}) {{\n{}\n}}\n", inputs,
                          inputs.empty() ? "" : ", ", outputs, form));
      };
      const std::string inputs = withTypes(exampleInputs(reference), dtype);
      for (const std::string& shaped : withShapes(inputs)) check_call(shaped, call);
      for (const std::string& form : withArguments(call)) check_call(inputs, form);
    }
    EXPECT_TRUE(accepted > before || kShare > 1) << callable.name;
  }
  EXPECT_GT(accepted, 10000 / kShare) << "most forms are legal";
  EXPECT_TRUE(wrong.empty()) << wrong.size() << " of " << accepted << " forms, the first:\n"
                             << joined(std::span(wrong).first(std::min<size_t>(wrong.size(), 5)), "\n");
}

}  // namespace
}  // namespace tokamak
