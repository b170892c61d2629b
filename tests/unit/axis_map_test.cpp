#include "compute/axis_map.h"

#include <gtest/gtest.h>

#include "ir/all_ops.h"

namespace tokamak {
namespace {

class AxisMapTest : public testing::Test {
 protected:
  TensorView* input(std::vector<Scalar*> extents, DataType dtype = DataType::F32) {
    const ShapeRule rule(fusion, "input");
    Axes axes;
    for (Scalar* extent : extents) axes.push_back(rule.sized(extent));
    TensorView* tensor = fusion.tensor(dtype, std::move(axes));
    fusion.addInput(tensor);
    return tensor;
  }
  template <class Op>
  AxisMap mapOf(Op op) {
    op.infer(ShapeRule(fusion, Op::info.name));
    out = op.out;
    return AxisMap(*fusion.appendOp(std::move(op)));
  }
  std::string valueOf(const AxisMap& map) { return toString(*map.rule().value); }

  Fusion fusion;
  Scalar* n = fusion.symbol("i0");
  Scalar* m = fusion.symbol("i1");
  Scalar* k = fusion.symbol("i2");
  Scalar* zero = fusion.constant(0);
  Scalar* one = fusion.constant(1);
  TensorView* out = nullptr;
};

const OperandCoordinateUse kNotUsed{};
OperandCoordinateUse identity(int64_t axis) { return {CoordinateUse::Identity, {axis}}; }
OperandCoordinateUse other(std::vector<int64_t> axes = {}) { return {CoordinateUse::Other, std::move(axes)}; }

TEST_F(AxisMapTest, APointwiseOpIsIndependentAlongEveryAxisEvenWhenOperandsNameTheirSizesDifferently) {
  TensorView* a = input({n, m});
  TensorView* b = input({k, one});
  const AxisMap map = mapOf(PointwiseOp{.function = FunctionId::add, .ins = {a, b}});
  EXPECT_EQ(map.use(*a, 0), identity(0));
  EXPECT_EQ(map.use(*a, 1), identity(1));
  EXPECT_EQ(map.use(*b, 0), identity(0));
  EXPECT_EQ(map.use(*b, 1), kNotUsed);
  EXPECT_TRUE(map.isIndependentAlong(0) && map.isIndependentAlong(1));
  EXPECT_FALSE(map.dependsOnPosition(0));
}

TEST_F(AxisMapTest, APermutedAxisIsFoundWhereItCameFrom) {
  TensorView* a = input({n, m, k});
  const AxisMap map = mapOf(PermuteOp{.in = a, .order = {2, 0, 1}});
  EXPECT_EQ(map.use(*a, 0), identity(2));
  EXPECT_EQ(map.use(*a, 1), identity(0));
  EXPECT_EQ(map.use(*a, 2), identity(1));
}

TEST_F(AxisMapTest, NewAndExpandedAxesDoNotUseTheOperand) {
  TensorView* a = input({n, one});
  const AxisMap map = mapOf(BroadcastOp{.in = a, .flags = {true, false, false}});
  EXPECT_EQ(map.use(*a, 0), kNotUsed);
  EXPECT_EQ(map.use(*a, 1), identity(0));
  const AxisMap expanded = mapOf(ExpandOp{.in = a, .shape = {n, m}});
  EXPECT_EQ(expanded.use(*a, 0), identity(0));
  EXPECT_EQ(expanded.use(*a, 1), kNotUsed);
  EXPECT_TRUE(expanded.isIndependentAlong(1));
}

TEST_F(AxisMapTest, ASliceIsTheIdentityOnlyAlongAxesThatItKeepsWhole) {
  TensorView* a = input({n, m, k});
  const AxisMap map = mapOf(SliceOp{.in = a, .starts = {zero, one, zero}, .stops = {n, m, one}, .steps = {}});
  EXPECT_EQ(map.use(*a, 0), identity(0));
  EXPECT_EQ(map.use(*a, 1), other());
  EXPECT_EQ(map.use(*a, 2), other({2}));  // starts at 0, but ends early
  EXPECT_TRUE(map.isIndependentAlong(0));
  EXPECT_FALSE(map.isIndependentAlong(1));
  EXPECT_FALSE(map.isIndependentAlong(2));
}

TEST_F(AxisMapTest, APadIsTheIdentityAlongAxesWithoutABorder) {
  TensorView* a = input({n, m});
  const AxisMap map = mapOf(PadOp{.in = a, .widths = {zero, zero, one, one}, .value = nullptr});
  EXPECT_EQ(map.use(*a, 0), identity(0));
  EXPECT_EQ(map.use(*a, 1), other());
  EXPECT_FALSE(map.dependsOnPosition(0));
  EXPECT_TRUE(map.dependsOnPosition(1));
  EXPECT_NE(valueOf(map).find("[c0, ( c1 - 1 )] : f32(0))"), std::string::npos) << valueOf(map);
}

TEST_F(AxisMapTest, CatIsTheIdentityAlongTheOtherAxes) {
  TensorView* a = input({n, m});
  TensorView* b = input({k, m});
  TensorView* c = input({n, k});
  const AxisMap map = mapOf(CatOp{.ins = {a, b}, .axis = 0});
  EXPECT_EQ(map.use(*a, 0).use, CoordinateUse::Other);
  EXPECT_EQ(map.use(*b, 0).use, CoordinateUse::Other);
  EXPECT_EQ(map.use(*a, 1), identity(1));
  EXPECT_EQ(map.use(*b, 1), identity(1));
  EXPECT_FALSE(map.isIndependentAlong(0));
  EXPECT_TRUE(map.isIndependentAlong(1));
  EXPECT_TRUE(mapOf(CatOp{.ins = {a, c}, .axis = 1}).isIndependentAlong(0));
}

TEST_F(AxisMapTest, AReductionIsIndependentAlongTheAxesItKeeps) {
  TensorView* a = input({n, m, k});
  const AxisMap map = mapOf(ReductionOp{.in = a, .op = ReductionKind::Sum, .axes = {1}});
  EXPECT_EQ(map.use(*a, 0), identity(0));
  EXPECT_EQ(map.use(*a, 1), identity(2));
  EXPECT_TRUE(map.isIndependentAlong(1));
}

TEST_F(AxisMapTest, ASelectedAxisIsGone) {
  TensorView* a = input({n, m, k});
  const AxisMap map = mapOf(SelectOp{.in = a, .axis = 1, .index = n});
  EXPECT_EQ(map.use(*a, 0), identity(0));
  EXPECT_EQ(map.use(*a, 1), identity(2));
}

TEST_F(AxisMapTest, AFlippedAxisIsReadFromItsEnd) {
  TensorView* a = input({n, m});
  const AxisMap map = mapOf(FlipOp{.in = a, .axes = {-1}});
  EXPECT_EQ(map.use(*a, 0), identity(0));
  EXPECT_NE(map.use(*a, 1), identity(1));
  EXPECT_TRUE(map.isIndependentAlong(0));
  EXPECT_FALSE(map.isIndependentAlong(1));
}

TEST_F(AxisMapTest, APositionThatATensorTellsIsNoCoordinate) {
  TensorView* a = input({n, m});
  TensorView* index = input({n, k}, DataType::I64);
  const AxisMap map = mapOf(TakeAlongAxisOp{.in = a, .index = index, .axis = 1});
  EXPECT_EQ(map.use(*a, 0), identity(0));
  EXPECT_EQ(map.use(*a, 1), kNotUsed);
  EXPECT_EQ(map.use(*index, 0), identity(0));
  EXPECT_EQ(map.use(*index, 1), identity(1));
  EXPECT_TRUE(map.isIndependentAlong(0) && map.isIndependentAlong(1));
  EXPECT_FALSE(map.dependsOnPosition(0) || map.dependsOnPosition(1));
  // Where the size is 0 nothing is read; a position is clamped whatever it is.
  EXPECT_NE(valueOf(map).find("0 < i1"), std::string::npos) << valueOf(map);
  EXPECT_NE(valueOf(map).find("(c2 = maximum(minimum("), std::string::npos) << valueOf(map);
}

TEST_F(AxisMapTest, AMatmulIsIndependentAlongRowsColumnsAndBatches) {
  TensorView* a = input({n, m, k});
  TensorView* b = input({k, n});
  const AxisMap map = mapOf(MatmulOp{.a = a, .b = b});
  EXPECT_EQ(map.use(*a, 0), identity(0));
  EXPECT_EQ(map.use(*b, 0), kNotUsed);
  EXPECT_EQ(map.use(*a, 1), identity(1));
  EXPECT_EQ(map.use(*b, 2), identity(1));
  EXPECT_TRUE(map.isIndependentAlong(0) && map.isIndependentAlong(1) && map.isIndependentAlong(2));
}

TEST_F(AxisMapTest, ATensorReadInTwoWaysHasNoAxisThatGoesAlong) {
  TensorView* a = input({n, n});
  const AxisMap map = mapOf(MatmulOp{.a = a, .b = a});
  EXPECT_EQ(map.use(*a, 0), other({0}));
  EXPECT_FALSE(map.isIndependentAlong(0));
}

TEST_F(AxisMapTest, LinearMapsTheBiasAndTheWeightsRows) {
  TensorView* in = input({n, m, k});
  TensorView* weight = input({n, k});
  TensorView* bias = input({n});
  const AxisMap map = mapOf(LinearOp{.in = in, .weight = weight, .bias = bias});
  EXPECT_EQ(map.use(*in, 1), identity(1));
  EXPECT_EQ(map.use(*weight, 1), kNotUsed);
  EXPECT_EQ(map.use(*weight, 2), identity(0));
  EXPECT_EQ(map.use(*bias, 2), identity(0));
  EXPECT_TRUE(map.isIndependentAlong(2));
}

TEST_F(AxisMapTest, AReshapeKeepsTheAxesOutsideOfTheGroupsItChanges) {
  TensorView* a = input({n, m, k, fusion.constant(6)});
  const AxisMap map =
      mapOf(ReshapeOp{.in = a, .shape = {n, one, fusion.mul(k, m), fusion.constant(2), fusion.constant(3)}});
  EXPECT_EQ(map.use(*a, 0), identity(0));
  EXPECT_EQ(map.use(*a, 1), kNotUsed);
  EXPECT_EQ(map.use(*a, 2), other());
  EXPECT_EQ(map.use(*a, 3), other());
  EXPECT_TRUE(map.isIndependentAlong(0));
  EXPECT_FALSE(map.isIndependentAlong(2));
  EXPECT_NE(valueOf(map).find("[c0, ( c2 / i2 ), ( c2 % i2 ), ( ( c3 * 3 ) + c4 )]"), std::string::npos)
      << valueOf(map);
}

TEST_F(AxisMapTest, AReshapeWhoseSizesCannotBeComparedIsOneGroup) {
  TensorView* a = input({n, m});
  const AxisMap map = mapOf(ReshapeOp{.in = a, .shape = {k, n}});
  EXPECT_FALSE(map.isIndependentAlong(0));
  EXPECT_FALSE(map.isIndependentAlong(1));
}

TEST_F(AxisMapTest, IotaDependsOnPositionAndFullDoesNot) {
  const AxisMap map = mapOf(IotaOp{.length = n});
  EXPECT_TRUE(map.dependsOnPosition(0));
  EXPECT_TRUE(map.isIndependentAlong(0));
  EXPECT_FALSE(mapOf(FullOp{.shape = {n}, .value = one}).dependsOnPosition(0));
}

TEST_F(AxisMapTest, RulesAddNoSymbolsToTheFusion) {
  TensorView* a = input({n, m});
  const size_t before = fusion.allSymbols().size();
  static_cast<void>(mapOf(ReductionOp{.in = a, .axes = {0}}));
  EXPECT_EQ(fusion.allSymbols().size(), before);
}

}  // namespace
}  // namespace tokamak
