#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/domain_graph.h"
#include "define/functions.h"
#include "define/softmax.h"
#include "define/structured.h"
#include "program_of.h"
#include "schedule/transforms.h"

namespace tokamak {
namespace {

using enum AxisMapping;

class DomainGraphTest : public testing::Test {
 protected:
  TensorView* floats(const Operands& shape) { return inputOf(fusion_, DataType::F32, shape); }
  /// Per axis of the result's shape: the number of the operand's axis that goes along, or -1.
  std::vector<int64_t> producersOf(const TensorView* out, size_t operand, AxisMapping mapping) const {
    const DomainGraph graph(fusion_);
    const Expr* expr = out->definition();
    const TensorView* in = asTensor(expr->input(operand));
    const Axes shape = shapeOf(*in);
    std::vector<int64_t> found;
    for (const IterDomain* axis : out->logical()) {
      const auto own = std::ranges::find(shape, graph.producerAxis(*expr, *in, *axis, mapping));
      found.push_back(own == shape.end() ? -1 : own - shape.begin());
    }
    return found;
  }

  Fusion fusion_;
};

using Found = std::vector<int64_t>;

TEST_F(DomainGraphTest, ElementwiseOpsGoAlongAllAxes) {
  EXPECT_EQ(producersOf(exp(floats({4, 8})), 0, Exact), (Found{0, 1}));
  EXPECT_EQ(producersOf(cast(floats({4, 8}), DataType::BF16), 0, Exact), (Found{0, 1}));
  EXPECT_EQ(producersOf(set(floats({fusion_.symbol("i0"), 8})), 0, Exact), (Found{0, 1}));
}

TEST_F(DomainGraphTest, SymbolicSizesThatMustBeEqualGoAlong) {
  const TensorView* sum = add(floats({fusion_.symbol("i0")}), floats({fusion_.symbol("i1")}));
  EXPECT_EQ(producersOf(sum, 0, Exact), (Found{0}));
  EXPECT_EQ(producersOf(sum, 1, Exact), (Found{0}));
}

TEST_F(DomainGraphTest, ABroadcastAxisGoesWithASizedOneOnlyWhenAskedFor) {
  const TensorView* out = add(floats({4, 8}), floats({8}));
  EXPECT_EQ(producersOf(out, 1, Exact), (Found{-1, 1}));
  EXPECT_EQ(producersOf(out, 1, Broadcast), (Found{0, 1}));
}

TEST_F(DomainGraphTest, BroadcastAxesGoWithBroadcastAxes) {
  EXPECT_EQ(producersOf(exp(floats({1, 8})), 0, Exact), (Found{0, 1}));
  EXPECT_EQ(producersOf(expand(floats({1, 8}), {4, 8}), 0, Exact), (Found{-1, 1}));
  EXPECT_EQ(producersOf(expand(floats({1, 8}), {4, 8}), 0, Broadcast), (Found{0, 1}));
  EXPECT_EQ(producersOf(exp(expand(floats({1, 8}), {4, 8})), 0, Exact), (Found{0, 1}));
}

TEST_F(DomainGraphTest, NewAxesHaveNoProducer) {
  EXPECT_EQ(producersOf(unsqueeze(floats({4, 8}), 1), 0, Reduction), (Found{0, -1, 1}));
  EXPECT_EQ(producersOf(squeeze(floats({4, 1, 8}), {1}), 0, Reduction), (Found{0, 2}));
}

TEST_F(DomainGraphTest, PermutedAxesAreFollowed) {
  EXPECT_EQ(producersOf(permute(floats({2, 3, 4}), {2, 0, 1}), 0, Exact), (Found{2, 0, 1}));
}

TEST_F(DomainGraphTest, ReductionAxesGoWithTheAxesTheyRunOver) {
  const TensorView* out = sum(floats({2, 3, 4}), {0, 2});
  EXPECT_EQ(producersOf(out, 0, Broadcast), (Found{-1, 1, -1}));
  EXPECT_EQ(producersOf(out, 0, Reduction), (Found{0, 1, 2}));
}

TEST_F(DomainGraphTest, MatrixProductsGoAlongRowsColumnsAndTheInnerAxis) {
  const TensorView* out = matmul(floats({5, 2, 3}), floats({3, 4}));
  EXPECT_EQ(producersOf(out, 0, Reduction), (Found{0, 1, -1, 2}));
  EXPECT_EQ(producersOf(out, 1, Reduction), (Found{-1, -1, 1, 0}));
  EXPECT_EQ(producersOf(out, 1, Exact), (Found{-1, -1, 1, -1}));
  EXPECT_EQ(producersOf(linear(floats({2, 3}), floats({4, 3})), 1, Reduction), (Found{-1, 0, 1}));
}

TEST_F(DomainGraphTest, ATensorReadInTwoWaysHasNoAxisThatGoesAlong) {
  TensorView* square = floats({4, 4});
  EXPECT_EQ(producersOf(matmul(square, square), 0, Reduction), (Found{-1, -1, -1}));
  EXPECT_EQ(producersOf(add(square, square), 0, Exact), (Found{0, 1}));
}

TEST_F(DomainGraphTest, CutAxesDoNotGoAlong) {
  EXPECT_EQ(producersOf(slice(floats({8, 6}), 0, 1, 5), 0, Reduction), (Found{-1, 1}));
  EXPECT_EQ(producersOf(pad(floats({8, 6}), {0, 0, 1, 1}), 0, Reduction), (Found{0, -1}));
  EXPECT_EQ(producersOf(cat({floats({8, 6}), floats({8, 2})}, 1), 0, Reduction), (Found{0, -1}));
  EXPECT_EQ(producersOf(select(floats({8, 6, 7}), 1, 0), 0, Reduction), (Found{0, 2}));
}

TEST_F(DomainGraphTest, EveryOpOnBroadcastAxesCanBeAsked) {
  TensorView* in = floats({1, 6});
  for (TensorView* out : {slice(in, 1, 1, 5), pad(in, {0, 0, 1, 1}), cat({in, in}, 1), select(in, 1, 0),
                          reshape(in, {3, 2}), matmul(in, floats({6, 1})), sum(in, {1}), permute(in, {1, 0})}) {
    EXPECT_NO_THROW(producersOf(out, 0, Reduction));
  }
  EXPECT_EQ(producersOf(slice(in, 1, 1, 5), 0, Exact), (Found{0, -1}));
}

TEST_F(DomainGraphTest, ClassesAreTransitive) {
  TensorView* in = floats({fusion_.symbol("i0"), fusion_.symbol("i1")});
  TensorView* out = softmax(in);
  const DomainGraph graph(fusion_);
  EXPECT_TRUE(graph.mapsTo(*in->logical()[0], *out->logical()[0], Exact));
  EXPECT_TRUE(graph.mapsTo(*in->logical()[1], *out->logical()[1], Exact));
  EXPECT_FALSE(graph.mapsTo(*in->logical()[0], *out->logical()[1], Reduction));
  // Rows; columns without the broadcast ones; those of the two sums' and maxima's broadcasts stand alone.
  EXPECT_EQ(graph.classes(Exact).size(), 2U);
}

TEST_F(DomainGraphTest, LoopAxesAreTheSameWhenTheirStepsAre) {
  TensorView* a = exp(floats({64, 8}));
  TensorView* b = exp(a);
  split(a, 0, 16);
  split(b, 0, 16);
  const DomainGraph graph(fusion_);
  EXPECT_TRUE(graph.mapsTo(*a->axis(0), *b->axis(0)));
  EXPECT_TRUE(graph.mapsTo(*a->axis(1), *b->axis(1)));
  EXPECT_FALSE(graph.mapsTo(*a->axis(0), *b->axis(1)));
  EXPECT_FALSE(graph.mapsTo(*a->axis(0), *b->logical()[0]));
  EXPECT_EQ(graph.producerAxis(*b->definition(), *a, *b->axis(1)), a->axis(1));
}

TEST_F(DomainGraphTest, LoopAxesOfOtherStepsAreNotTheSame) {
  TensorView* a = exp(floats({64, 8}));
  TensorView* b = exp(a);
  TensorView* c = exp(a);
  split(a, 0, 16, SplitSide::Outer);
  split(b, 0, 16, SplitSide::Inner);
  split(c, 0, 8, SplitSide::Outer);
  const DomainGraph graph(fusion_);
  for (const TensorView* other : {b, c}) {
    EXPECT_FALSE(graph.mapsTo(*a->axis(0), *other->axis(0)));
    EXPECT_EQ(graph.producerAxis(*other->definition(), *a, *other->axis(0)), nullptr);
  }
}

TEST_F(DomainGraphTest, MergedAxesAreTheSameWhenBothPartsAre) {
  TensorView* a = exp(floats({64, 8}));
  TensorView* b = exp(a);
  TensorView* turned = permute(a, {1, 0});
  for (TensorView* tensor : {a, b, turned}) merge(tensor, 0);
  const DomainGraph graph(fusion_);
  EXPECT_TRUE(graph.mapsTo(*a->axis(0), *b->axis(0)));
  EXPECT_EQ(graph.producerAxis(*b->definition(), *a, *b->axis(0)), a->axis(0));
  EXPECT_FALSE(graph.mapsTo(*a->axis(0), *turned->axis(0)));
  EXPECT_EQ(graph.producerAxis(*turned->definition(), *a, *turned->axis(0)), nullptr);
}

}  // namespace
}  // namespace tokamak
