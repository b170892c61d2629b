// Messages of the ops' own type rules, on calls that nothing converts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "ir/fields.h"
#include "ir/text/fusion_parser.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

struct Row {
  const char* call;
  const char* message;
};

constexpr const char* kInputs =
    "T0: f32[4, 8], T1: f32[8], T2: f32[1, 8], T3: f32[2, 2, 2], T4: f64[3, 8], T5: f32[3, 5], T6: f32[3, 8], T7: "
    "f32[3, 3], T8: f32[], T10: bf16[8, 8]";

constexpr Row kRows[] = {
    {"broadcast(T0, flags=[true, false])", "broadcast: flags keep 1 axes, but T0: f32[4, 8] has 2"},
    {"cat([T0, T1], axis=0)", "cat: T0: f32[4, 8] and T1: f32[8] differ in rank or type"},
    {"cat([T0, T2], axis=1)", "cat: axis 0 is a broadcast axis of some operands only; expand it first"},
    {"expand(T0, shape=[4])", "expand: 1 sizes for T0: f32[4, 8] with 2 axes"},
    {"iota(length=4, dtype=bool)", "iota: dtype bool cannot count; choose a numeric type"},
    {"linear(T0, T3)", "linear: needs an operand with at least one axis and a weight with one or two"},
    {"linear(T0, T4)", "linear: operands must have one type other than bool"},
    {"linear(T0, T5)", "linear: the inner sizes of T0: f32[4, 8] and T5: f32[3, 5] differ: 8 and 5"},
    {"linear(T0, T6, T7)", "linear: the bias must have 1 axes, got T7: f32[3, 3]"},
    {"linear(T10, T10, dtype=f64)", "linear: products of bf16 cannot give f64; they give bf16 or f32"},
    {"matmul(T10, T10, dtype=f16)", "matmul: products of bf16 cannot give f16; they give bf16 or f32"},
    {"matmul(T0, T1, dtype=f64)", "matmul: products of f32 cannot give f64; they give f32"},
    {"matmul(T10, T10, dtype=1)", "matmul: the argument 'dtype' is an integer; expected a type"},
    {"matmul(T0, T8)", "matmul: operands must have at least one axis"},
    {"matmul(T0, T4)", "matmul: operands must have one type other than bool"},
    {"matmul(T0, T5)", "matmul: the inner sizes of T0: f32[4, 8] and T5: f32[3, 5] differ: 8 and 3"},
    {"pad(T0, widths=[1, 1])", "pad: 2 widths for T0: f32[4, 8]; two for each of its 2 axes are needed"},
    {"pad(T0, widths=[-3, -3, 0, 0])", "pad: widths -3 and -3 cut more than axis 0 of T0: f32[4, 8] has"},
    {"permute(T0, order=[0])", "permute: 1 axes in the order for T0: f32[4, 8] with 2 axes"},
    {"add(T0, T1)", "add: T0: f32[4, 8] and T1: f32[8] have different ranks; broadcast one"},
    {"bitwise_and(T0, T0)", "bitwise_and: not defined on operands of type f32"},
    {"slice(T0, starts=[0], stops=[4])", "slice: 1 starts, 1 stops and 1 steps for T0: f32[4, 8] with 2 axes"},
    {"slice(T0, starts=[0, 0], stops=[4, 8], steps=[0, 1])",
     "slice: step 0 along axis 0 of T0: f32[4, 8]; steps must be positive"},
    {"squeeze(T0, flags=[true])", "squeeze: 1 flags for T0: f32[4, 8] with 2 axes"},
};

TEST(OpErrors, EachSaysTheOpTheOperandAndWhatIsLegal) {
  for (const Row& row : kRows) {
    const std::string text = std::string("fusion f(") + kInputs + ") -> T9 {\n  T9 = " + row.call + "\n}\n";
    const Error error = errorOf([&] { parseFusion(text, "f.fusion"); });
    EXPECT_THAT(error.what(), HasSubstr(row.message)) << row.call;
  }
}

class FieldErrors : public testing::Test {
 protected:
  TensorView* input() {
    TensorView* tensor = fusion_.tensor(DataType::F32, {fusion_.axis({.extent = fusion_.constant(4)})});
    tensor->setLabel(0);
    fusion_.addInput(tensor);
    return tensor;
  }
  std::string messageOf(const char* op, Fields fields) {
    const OpName name = *findOp(op);
    if (name.spelling) fields.push_back({FieldRole::Spelling, "function", *name.spelling});
    return errorOf([&] { defineExpr(fusion_, name.kind, fields); }).message();
  }
  Fusion fusion_;
};

TEST_F(FieldErrors, AFieldOfTheWrongFormIsNamed) {
  Val* in = input();
  EXPECT_EQ(messageOf("set", {{FieldRole::Operand, "in", int64_t{4}}}), "set: 'in' must be a value, not an attribute");
  EXPECT_EQ(messageOf("set", {{FieldRole::Operand, "in", in}, {FieldRole::Attribute, "cache_op", int64_t{1}}}),
            "set: attribute 'cache_op' must be one of its names");
  EXPECT_EQ(messageOf("cast", {{FieldRole::Operand, "in", in}, {FieldRole::Attribute, "dtype", int64_t{1}}}),
            "cast: attribute 'dtype' has a value of the wrong form");
  EXPECT_EQ(messageOf("cat", {{FieldRole::OperandList, "in", in}}), "cat: 'in' must be a list of values");
  EXPECT_EQ(messageOf("cat", {}), "cat: no operands; give at least one tensor");
  const std::vector<Val*> scalars = {fusion_.constant(1), fusion_.constant(2)};
  EXPECT_EQ(messageOf("add", {{FieldRole::OperandList, "in", scalars}}), "add: at least one operand must be a tensor");
}

TEST_F(FieldErrors, NodesOfAnotherFusionAndMisplacedInputsAreRefused) {
  Val* in = input();
  Fusion other;
  Scalar* foreign = other.symbol("n");
  Scalar* pair[] = {foreign, foreign};
  EXPECT_THAT(errorOf([&] { fusion_.rawScalar(ScalarOp::Add, DataType::I64, pair); }).message(),
              HasSubstr("belongs to another fusion"));
  EXPECT_THAT(errorOf([&] { other.addInput(in); }).message(),
              HasSubstr("addInput: the value belongs to another fusion"));
  EXPECT_THAT(errorOf([&] { other.addOutput(asTensor(in)); }).message(),
              HasSubstr("addOutput: T0: f32[4] belongs to another fusion"));
  EXPECT_EQ(errorOf([&] { other.aliasOutput(asTensor(in), in); }).message(),
            "alias: T0: f32[4] belongs to another fusion");
  EXPECT_THAT(errorOf([&] { fusion_.addInput(in); }).message(), HasSubstr("addInput: the value is already an input"));
  const Expr* copy = defineExpr(fusion_, findOp("set")->kind, {{FieldRole::Operand, "in", in}});
  EXPECT_THAT(errorOf([&] { fusion_.addInput(copy->output(0)); }).message(), HasSubstr("the value is computed by set"));
  EXPECT_THAT(errorOf([&] { other.append(makeExpr(copy->kind(), fieldsOf(*copy))); }).message(),
              HasSubstr("belongs to another fusion"));
  EXPECT_THAT(errorOf([&] { asTensor(in)->axis(3); }).message(),
              HasSubstr("axis 3 is out of bounds for tensor T0: f32[4] with 1 axes"));
}

TEST_F(FieldErrors, NegativeExtentsAndTargetsWrittenTwiceAreRefused) {
  EXPECT_THAT(errorOf([&] { fusion_.axis({.extent = fusion_.constant(-1)}); }).message(),
              HasSubstr("axis: the extent -1 is negative"));
  Val* in = input();
  const auto copy = [&] {
    return asTensor(defineExpr(fusion_, findOp("set")->kind, {{FieldRole::Operand, "in", in}})->output(0));
  };
  fusion_.aliasOutput(copy(), in);
  TensorView* second = copy();
  EXPECT_THAT(errorOf([&] { fusion_.aliasOutput(second, in); }).message(), HasSubstr("cannot be written into"));
}

TEST_F(FieldErrors, ScalarsSayWhyTheyHaveNoValue) {
  Scalar* n = fusion_.symbol("n");
  Scalar* m = fusion_.symbol("m");
  EXPECT_EQ(errorOf([&] { evaluateInt(*fusion_.floorDiv(n, m), {{n, int64_t{1}}, {m, int64_t{0}}}); }).message(),
            "( n / m ): the divisor is 0; it must be positive");
  EXPECT_EQ(errorOf([&] { evaluateInt(*fusion_.mul(n, m), {{n, INT64_MAX}, {m, int64_t{2}}}); }).message(),
            "( n * m ): overflows 64-bit integers with 9223372036854775807 and 2");
  EXPECT_EQ(errorOf([&] { evaluateInt(*fusion_.add(n, m), {{n, int64_t{1}}}); }).message(),
            "( n + m ): the value of m is not known; give it a value");
}

}  // namespace
}  // namespace tokamak
