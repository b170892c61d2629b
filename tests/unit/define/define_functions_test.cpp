#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "define/functions.h"
#include "define/promotion.h"
#include "define/structured.h"
#include "error_of.h"
#include "ir/fusion.h"
#include "ir/ops/math/broadcast_op.h"
#include "ir/ops/math/cast_op.h"
#include "ir/ops/math/pointwise_op.h"
#include "program_of.h"

namespace tokamak {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DefineFunctions : public testing::Test {
 protected:
  TensorView* tensor(DataType dtype, const Operands& shape = {4, 8}) { return inputOf(fusion_, dtype, shape); }
  Scalar* symbol(DataType dtype) { return fusion_.symbol("s", dtype); }
  Fusion fusion_;
};

struct PromotionRow {
  std::string_view what;
  std::vector<std::string_view>
      operands;  // f32: a tensor with axes, f32[]: without, f32(): a scalar, 2 2.0 true: numbers
  std::string_view promoted;
};

class Promotion : public testing::TestWithParam<PromotionRow> {};

Operand operandOf(Fusion& fusion, std::string_view text) {
  if (text == "2") return 2;
  if (text == "2.0") return 2.0;
  if (text == "true") return true;
  if (text.ends_with("[]"))
    return inputOf(fusion, *dataTypeFromName(text.substr(0, text.size() - 2)), std::vector<int64_t>{});
  if (text.ends_with("()")) return fusion.symbol("s", *dataTypeFromName(text.substr(0, text.size() - 2)));
  return inputOf(fusion, *dataTypeFromName(text), {4, 8});
}

TEST_P(Promotion, GivesTheTypeOfTheHighestRankUnlessALowerRankHasAHigherCategory) {
  Fusion fusion;
  std::vector<Operand> operands;
  for (const std::string_view text : GetParam().operands) operands.push_back(operandOf(fusion, text));
  EXPECT_EQ(dataTypeName(promotedType(operands)), GetParam().promoted) << GetParam().what;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, Promotion,
    testing::Values(PromotionRow{"same", {"f32", "f32"}, "f32"}, PromotionRow{"wider float", {"f32", "f64"}, "f64"},
                    PromotionRow{"two halves", {"f16", "bf16"}, "f32"}, PromotionRow{"half", {"bf16", "bf16"}, "bf16"},
                    PromotionRow{"integers", {"i32", "i64"}, "i64"},
                    PromotionRow{"integer, float", {"i64", "f16"}, "f16"}, PromotionRow{"bool", {"bool", "i32"}, "i32"},
                    PromotionRow{"a number of the category", {"i32", "2"}, "i32"},
                    PromotionRow{"a number of the category", {"bf16", "2.0"}, "bf16"},
                    PromotionRow{"a number of the category", {"f64", "2.0"}, "f64"},
                    PromotionRow{"an integer beside floats", {"f32", "2"}, "f32"},
                    PromotionRow{"a float beside integers", {"i64", "2.0"}, "f32"},
                    PromotionRow{"an integer beside bool", {"bool", "2"}, "i64"},
                    PromotionRow{"bool beside bool", {"bool", "true"}, "bool"},
                    PromotionRow{"an f64 scalar beside floats", {"f32", "f64()"}, "f32"},
                    PromotionRow{"an f64 scalar beside integers", {"i32", "f64()"}, "f32"},
                    PromotionRow{"an i64 scalar beside i32", {"i32", "i64()"}, "i32"},
                    PromotionRow{"no axes, same category", {"f32", "f64[]"}, "f32"},
                    PromotionRow{"no axes, higher category", {"i32", "f64[]"}, "f64"},
                    PromotionRow{"no axes and a number", {"f16[]", "2.0"}, "f16"},
                    PromotionRow{"scalars", {"f32()", "i64()"}, "f32"},
                    PromotionRow{"a scalar and a number", {"f32()", "2.0"}, "f32"},
                    PromotionRow{"scalars, higher category", {"i64()", "2.0"}, "f64"}));

TEST_F(DefineFunctions, HalfTypesAreCastToF32AndGiveF32) {
  TensorView* a = tensor(DataType::BF16);
  const TensorView* out = add(a, a);
  EXPECT_EQ(out->dtype(), DataType::F32);
  EXPECT_THAT(programOf(fusion_), ElementsAre("cast f32[4, 8]", "add f32[4, 8]"));
}

TEST_F(DefineFunctions, ANumberTakesTheOperandTypeAndStaysAScalar) {
  TensorView* a = tensor(DataType::F32);
  const TensorView* out = mul(a, 2);
  const auto* op = out->definition()->as<PointwiseOp>();
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->ins[1], fusion_.constant(2.0, DataType::F32));
  const TensorView* left = sub(1.0, a);
  EXPECT_EQ(left->definition()->as<PointwiseOp>()->ins[0], fusion_.constant(1.0, DataType::F32));
}

TEST_F(DefineFunctions, AScalarOfAnotherTypeIsCast) {
  Scalar* s = symbol(DataType::F64);
  const TensorView* out = mul(tensor(DataType::F32), s);
  const auto* factor = static_cast<const Scalar*>(out->definition()->as<PointwiseOp>()->ins[1]);
  EXPECT_EQ(factor->op(), ScalarOp::Cast);
  EXPECT_EQ(factor->dtype(), DataType::F32);
  EXPECT_EQ(factor->operand(0), s);
}

TEST_F(DefineFunctions, LowerRanksGetLeadingBroadcastAxes) {
  const TensorView* out = add(tensor(DataType::F32, {2, 3, 8}), tensor(DataType::F32, {8}));
  const auto* op = asTensor(out->definition()->input(1))->definition()->as<BroadcastOp>();
  ASSERT_NE(op, nullptr);
  EXPECT_THAT(op->flags, ElementsAre(true, true, false));
  EXPECT_EQ(shapeText(*out), "2, 3, 8");
}

TEST_F(DefineFunctions, ATensorWithoutAxesBroadcasts) {
  EXPECT_EQ(shapeText(*add(tensor(DataType::F32, std::vector<int64_t>{}), tensor(DataType::F32))), "4, 8");
}

TEST_F(DefineFunctions, EveryRowGivesTheTypesOfItsRuleOnEveryType) {
  for (const FunctionInfo& info : allFunctions()) {
    for (const DataType dtype : kAllDataTypes) {
      Fusion fusion;
      const std::vector<Operand> operands(static_cast<size_t>(info.arity), Operand(inputOf(fusion, dtype, {4, 8})));
      const auto types = functionTypes(info.id, dtype);
      if (!types) {
        const Error error = errorOf([&] { applyFunction(info.id, operands); });
        EXPECT_EQ(error.code(), ErrorCode::Definition) << info.name;
        EXPECT_THAT(error.message(), HasSubstr("not defined on operands of type")) << info.name;
        continue;
      }
      const Val* out = applyFunction(info.id, operands);
      EXPECT_EQ(out->dtype(), types->result) << info.name << " on " << dataTypeName(dtype);
      const auto* op = out->definition()->as<PointwiseOp>();
      ASSERT_NE(op, nullptr);
      for (size_t i = 0; i < op->ins.size(); ++i) {
        const bool is_condition = info.rule == TypeRule::Choose && i == 0;
        EXPECT_EQ(op->ins[i]->dtype(), is_condition ? DataType::Bool : types->operand) << info.name;
      }
    }
  }
}

TEST_F(DefineFunctions, WhereMakesItsConditionBool) {
  const TensorView* out = where(tensor(DataType::I32), tensor(DataType::F32), 0.0);
  EXPECT_EQ(out->dtype(), DataType::F32);
  EXPECT_EQ(out->definition()->input(0)->dtype(), DataType::Bool);
  EXPECT_EQ(where(tensor(DataType::Bool), 1.0, 0.0)->dtype(), DataType::F32);
}

TEST_F(DefineFunctions, IntegerScalarsUseTheScalarsOwnArithmetic) {
  Scalar* n = symbol(DataType::I64);
  Scalar* twice = mul(n, 2);
  EXPECT_EQ(twice, fusion_.mul(n, fusion_.constant(2)));
  EXPECT_EQ(add(n, 0), n);
  EXPECT_EQ(lt(n, 8)->op(), ScalarOp::Less);
}

TEST_F(DefineFunctions, OtherScalarsApplyTheFunction) {
  Scalar* s = symbol(DataType::F64);
  const Scalar* root = rsqrt(s);
  EXPECT_EQ(root->op(), ScalarOp::Function);
  EXPECT_DOUBLE_EQ(std::get<double>(*evaluate(*root, {{s, 4.0}})), 0.5);
  EXPECT_EQ(rsqrt(fusion_.constant(4.0, DataType::F64)), fusion_.constant(0.5, DataType::F64));
  const Scalar* sum = addcmul(s, 2.0, 3.0, 4.0);
  EXPECT_DOUBLE_EQ(std::get<double>(*evaluate(*sum, {{s, 1.0}})), 25.0);
}

TEST_F(DefineFunctions, SizesThatDoNotBroadcastAreRefused) {
  const Error error = errorOf([&] { add(tensor(DataType::F32, {4, 8}), tensor(DataType::F32, {4, 7})); });
  EXPECT_EQ(error.code(), ErrorCode::Definition);
  EXPECT_THAT(error.message(), HasSubstr("the operands' sizes along axis 1 are 8 and 7"));
}

TEST_F(DefineFunctions, AWrongNumberOfOperandsIsRefused) {
  const std::vector<Operand> one = {tensor(DataType::F32)};
  EXPECT_EQ(errorOf([&] { applyFunction(FunctionId::add, one); }).message(), "add: takes 2 operands, got 1");
}

TEST_F(DefineFunctions, NumbersAloneAreRefused) {
  const std::vector<Operand> numbers = {1, 2.0};
  EXPECT_EQ(errorOf([&] { applyFunction(FunctionId::add, numbers); }).message(),
            "add: all operands are numbers; at least one must be a tensor or a scalar");
}

TEST_F(DefineFunctions, OperandsOfAnotherFusionAreRefused) {
  Fusion other;
  const Error error = errorOf([&] { add(tensor(DataType::F32), inputOf(other, DataType::F32, {4, 8})); });
  EXPECT_EQ(error.message(), "add: operand 1 belongs to another fusion");
}

TEST_F(DefineFunctions, AStreamIsNoOperand) {
  Val* stream = fusion_.stream();
  EXPECT_EQ(errorOf([&] { add(tensor(DataType::F32), stream); }).message(), "add: operand 1 is a stream, not a value");
}

}  // namespace
}  // namespace tokamak
