// How device code is put together from its texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device_code/compiled_code.h"
#include "error_of.h"
#include "symbolic/function_table.h"

namespace tokamak::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string code(Dialect dialect, const std::vector<std::string>& helpers) { return deviceCode(dialect, helpers); }

std::string messageOf(const auto& function) { return errorOf(function).what(); }

size_t occurrences(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Assembly, AHelperComesOnceAfterWhatItNeeds) {
  const std::string text = code(Dialect::C, {"exp_f32", "sigmoid_f32", "exp_f32"});
  EXPECT_EQ(occurrences(text, "tk_f32 tk_exp_parts_f32("), 1U);
  EXPECT_EQ(occurrences(text, "tk_f32 tk_exp_f32("), 1U);
  EXPECT_LT(text.find("tk_f32 tk_exp_parts_f32("), text.find("tk_f32 tk_exp_f32("));
  EXPECT_LT(text.find("typedef float tk_f32"), text.find("tk_f32 tk_exp_parts_f32("));
}

TEST(Assembly, WhatIsNotNeededIsNotThere) {
  EXPECT_THAT(code(Dialect::C, {"exp_f32"}), Not(HasSubstr("tk_log")));
  EXPECT_THAT(code(Dialect::C, {}), Not(HasSubstr("TK_FN tk_")));
}

TEST(Assembly, NoTextIncludesAHeaderOrLeavesAPlaceholder) {
  for (const Dialect dialect : {Dialect::C, Dialect::Cuda}) {
    const std::string text = deviceCode(dialect, allHelpers(dialect));
    for (const char* part : {"#include", "TYPE", "TK_T ", "TK_I ", "TK_U ", "TK_H ", "TK_M ", "LANES", "needs:"}) {
      EXPECT_THAT(text, Not(HasSubstr(part)));
    }
  }
}

TEST(Assembly, LanesAreInstancesOfTheSameText) {
  EXPECT_THAT(code(Dialect::C, {"exp_f32x16"}), HasSubstr("tk_f32x16 tk_exp_f32x16(tk_f32x16 x)"));
  EXPECT_THAT(code(Dialect::C, {"exp_f32x8", "exp_f32x16"}), HasSubstr("vector_size(8 * 4)"));
}

TEST(Assembly, AnUnknownHelperIsNamed) {
  EXPECT_THAT(messageOf([] { code(Dialect::C, {"nonsense_f32"}); }), HasSubstr("no helper nonsense_f32 for C"));
  EXPECT_THAT(messageOf([] { code(Dialect::Cuda, {"exp_f32x16"}); }), HasSubstr("no helper exp_f32x16 for CUDA"));
  EXPECT_FALSE(hasHelper(Dialect::Cuda, "exp_f32x16"));
}

TEST(Assembly, TypesHaveNames) {
  EXPECT_EQ(deviceTypeName(DataType::BF16), "tk_bf16");
  EXPECT_EQ(deviceTypeName(LaneType(DataType::F32, 16)), "tk_f32x16");
  EXPECT_EQ(deviceTypeName(LaneType(DataType::F64, 8)), "tk_f64x8");
  EXPECT_EQ(deviceTypeName(LaneType(DataType::Bool, 8)), "tk_i32x8");
  EXPECT_EQ(deviceTypeName(LaneType(DataType::Bool, 8, 8)), "tk_i64x8");
  EXPECT_EQ(deviceTypeName(LaneType(DataType::Bool, 64, 1)), "tk_i8x64");
  EXPECT_EQ(deviceTypeName(LaneType(DataType::F16, 8)), "tk_u16x8");
}

TEST(Calls, AFunctionIsAnExpressionOrACall) {
  const std::vector<std::string> x = {"x"}, xy = {"x", "y"};
  EXPECT_EQ(functionCall(function_id::add, DataType::F32, xy), "(x + y)");
  EXPECT_EQ(functionCall(function_id::add, DataType::I32, xy), "tk_add_i32(x, y)");
  EXPECT_EQ(functionCall(function_id::exp, LaneType(DataType::F32, 16), x), "tk_exp_f32x16(x)");
  EXPECT_EQ(functionCall(function_id::add, LaneType(DataType::I64, 8), xy), "tk_add_i64x8(x, y)");
  EXPECT_EQ(functionCall(function_id::lt, LaneType(DataType::I32, 16), xy), "(x < y)");
  EXPECT_EQ(functionCall(function_id::ne, LaneType(DataType::Bool, 64, 1), xy), "(x ^ y)");
  EXPECT_THAT(functionHelpers(function_id::exp, DataType::F64), testing::ElementsAre("exp_f64"));
  EXPECT_THAT(functionHelpers(function_id::add, DataType::F32), testing::IsEmpty());
}

TEST(Calls, WhatKernelsCannotComputeIsRefused) {
  const std::vector<std::string> x = {"x"};
  EXPECT_FALSE(hasFunction(function_id::lgamma, LaneType(DataType::F32, 16)));
  EXPECT_FALSE(hasFunction(function_id::exp, DataType::BF16));
  EXPECT_FALSE(hasFunction(function_id::exp, DataType::I32));
  EXPECT_THAT(messageOf([&] { functionCall(function_id::lgamma, LaneType(DataType::F32, 16), x); }),
              HasSubstr("lgamma: kernels do not compute it with f32x16; run it op by op"));
  // A mask is no number.
  EXPECT_TRUE(hasFunction(function_id::where, LaneType(DataType::Bool, 16)));
  EXPECT_FALSE(hasFunction(function_id::clamp, LaneType(DataType::Bool, 16)));
}

TEST(Casts, ChainsRoundOnce) {
  EXPECT_EQ(castCall(DataType::BF16, DataType::F64, "x"), "tk_to_bf16_f32(tk_to_odd_f64(x))");
  EXPECT_EQ(castCall(DataType::I32, DataType::F16, "x"), "tk_to_i32_f32(tk_from_f16_f32(x))");
  EXPECT_EQ(castCall(DataType::F64, DataType::I32, "x"), "((tk_f64)x)");
  EXPECT_EQ(castCall(DataType::F32, DataType::F32, "x"), "x");
}

}  // namespace
}  // namespace tokamak::test
