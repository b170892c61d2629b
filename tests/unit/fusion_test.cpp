#include <gtest/gtest.h>

#include "ir/clone.h"
#include "ir/fields.h"
#include "ir/fusion.h"
#include "ir/ops/math/reduction_op.h"

namespace tokamak {
namespace {

TensorView* input(Fusion& fusion, DataType dtype, std::initializer_list<Scalar*> extents) {
  Axes axes;
  for (Scalar* extent : extents) axes.push_back(fusion.axis({.extent = extent}));
  TensorView* tensor = fusion.tensor(dtype, std::move(axes));
  fusion.addInput(tensor);
  return tensor;
}

TEST(Fusion, AnOpCanBeMadeFromNamedFields) {
  Fusion fusion;
  Scalar* rows = fusion.symbol("i0");
  TensorView* in = input(fusion, DataType::F32, {rows, fusion.constant(8)});
  const auto name = findOp("max");
  ASSERT_TRUE(name.has_value());
  const Expr* expr = defineExpr(fusion, name->kind,
                                {{FieldRole::Spelling, "op", *name->spelling},
                                 {FieldRole::Operand, "in", static_cast<Val*>(in)},
                                 {FieldRole::AxisNumbers, "axes", std::vector<int64_t>{-1}}});
  ASSERT_NE(expr->as<ReductionOp>(), nullptr);
  EXPECT_EQ(expr->as<ReductionOp>()->op, ReductionKind::Max);
  EXPECT_EQ(callName(*expr), "max");
  const auto* out = asTensor(expr->output(0));
  EXPECT_EQ(out->logical().size(), 2U);
  EXPECT_TRUE(out->logical()[1]->isReduction());
  EXPECT_EQ(shapeOf(*out).size(), 1U);
}

TEST(Fusion, EqualScalarsAreOneNode) {
  Fusion fusion;
  Scalar* n = fusion.symbol("i0");
  EXPECT_EQ(fusion.mul(n, fusion.constant(8)), fusion.mul(n, fusion.constant(8)));
  EXPECT_EQ(fusion.mul(n, fusion.constant(1)), n);
  EXPECT_EQ(toString(*fusion.ceilDiv(fusion.mul(n, fusion.constant(8)), fusion.constant(3))),
            "( ceilDiv(( i0 * 8 ), 3) )");
  EXPECT_EQ(evaluateInt(*fusion.ceilDiv(n, fusion.constant(3)), {{n, int64_t{7}}}), 3);
}

TEST(Fusion, ACloneHasItsOwnNodes) {
  Fusion fusion("f");
  TensorView* in = input(fusion, DataType::F32, {fusion.symbol("i0")});
  const Expr* expr =
      defineExpr(fusion, findOp("cast")->kind,
                 {{FieldRole::Operand, "in", static_cast<Val*>(in)}, {FieldRole::Attribute, "dtype", DataType::F64}});
  fusion.addOutput(asTensor(expr->output(0)));
  const auto copy = cloneFusion(fusion);
  ASSERT_EQ(copy->outputs().size(), 1U);
  EXPECT_NE(copy->outputs()[0], fusion.outputs()[0]);
  EXPECT_EQ(copy->outputs()[0]->dtype(), DataType::F64);
  EXPECT_EQ(copy->exprs().size(), 1U);
}

}  // namespace
}  // namespace tokamak
