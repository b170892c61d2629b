// Properties of interning and cloning on random scalars and random fusions.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/clone.h"
#include "ir/fields.h"
#include "ir/ops/math/broadcast_op.h"
#include "ir/ops/math/cast_op.h"
#include "ir/ops/math/load_store_op.h"
#include "ir/ops/math/permute_op.h"
#include "ir/ops/math/pointwise_op.h"
#include "ir/ops/math/reduction_op.h"
#include "ir/verifier.h"
#include "unit/symbolic/random_scalars.h"

namespace tokamak {
namespace {

using test::caseCount;
using test::RandomScalars;

TEST(FusionProperty, AScalarIsTheSameNodeAsItsRebuiltForm) {
  std::mt19937_64 random(11);
  Fusion fusion;
  RandomScalars scalars(fusion, random);
  std::map<std::string, Scalar*> by_text;
  for (int64_t i = 0; i < caseCount(20'000); ++i) {
    Scalar* scalar = scalars.integer(1 + static_cast<int>(scalars.below(3)));
    if (!scalar->operands().empty()) {
      ASSERT_EQ(fusion.rawScalar(scalar->op(), scalar->dtype(), scalar->operands(), scalar->function()), scalar);
    }
    // The text tells forms apart, as symbols have different names here.
    const auto [place, is_new] = by_text.emplace(toString(*scalar), scalar);
    ASSERT_EQ(place->second, scalar) << place->first << " is two nodes";
    if (!is_new) continue;
    if (scalar->isConstant()) {
      ASSERT_EQ(fusion.constant(scalar->value(), scalar->dtype()), scalar);
    }
  }
  EXPECT_GT(by_text.size(), 1000U);
}

TEST(FusionProperty, TheOrderOfScalarsIsTotal) {
  std::mt19937_64 random(12);
  Fusion fusion;
  RandomScalars scalars(fusion, random);
  for (int64_t i = 0; i < caseCount(50'000); ++i) {
    const Scalar* s[3];
    for (const Scalar*& scalar : s) scalar = scalars.integer(static_cast<int>(scalars.below(4)));
    ASSERT_EQ(compareScalars(*s[0], *s[1]), -compareScalars(*s[1], *s[0]));
    ASSERT_EQ(compareScalars(*s[0], *s[1]) == 0, s[0] == s[1]) << toString(*s[0]) << " and " << toString(*s[1]);
    const bool ascends = compareScalars(*s[0], *s[1]) < 0 && compareScalars(*s[1], *s[2]) < 0;
    if (ascends) {
      ASSERT_LT(compareScalars(*s[0], *s[2]), 0);
    }
  }
}

TEST(FusionProperty, ConstantsOfDifferentTypesOrBitsAreDifferentNodes) {
  Fusion fusion;
  EXPECT_NE(fusion.constant(1), fusion.constant(int64_t{1}, DataType::I32));
  EXPECT_NE(fusion.constant(1), fusion.constant(true, DataType::Bool));
  EXPECT_NE(fusion.constant(0.0, DataType::F32), fusion.constant(-0.0, DataType::F32));
  EXPECT_NE(fusion.constant(0.5, DataType::F32), fusion.constant(0.5, DataType::F64));
  EXPECT_EQ(fusion.constant(std::numeric_limits<double>::quiet_NaN(), DataType::F64),
            fusion.constant(std::numeric_limits<double>::quiet_NaN(), DataType::F64));
  EXPECT_NE(fusion.symbol("i0"), fusion.symbol("i0"));
}

// Random legal ops over the tensors made so far.
class RandomFusion {
 public:
  explicit RandomFusion(std::mt19937_64& random) : random_(random) {
    Scalar* extents[] = {fusion_.symbol("i0"), fusion_.symbol("i2"), fusion_.constant(8)};
    for (size_t i = 0; i < 2; ++i) {
      Axes axes;
      for (size_t axis = 0; axis < 2; ++axis) axes.push_back(fusion_.axis({.extent = extents[below(3)]}));
      tensors_.push_back(fusion_.tensor(below(2) == 0 ? DataType::F32 : DataType::I64, std::move(axes)));
      fusion_.addInput(tensors_.back());
    }
    const size_t ops = 1 + below(8);
    while (fusion_.allExprs().size() < ops) grow();
    for (size_t i = 0; i < 1 + below(2); ++i) fusion_.addOutput(tensors_[tensors_.size() - 1 - i]);
    for (size_t i = 0; i < tensors_.size(); ++i) tensors_[i]->setLabel(static_cast<int64_t>(i));
  }
  Fusion& fusion() { return fusion_; }

 private:
  size_t below(size_t count) { return random_() % count; }

  template <class Op>
  void give(Op op) {
    op.infer(ShapeRule(fusion_, Op::info.name));
    tensors_.push_back(asTensor(fusion_.appendOp(std::move(op))->output(0)));
  }

  void grow() {
    TensorView* in = tensors_[below(tensors_.size())];
    const size_t rank = shapeOf(*in).size();
    switch (below(6)) {
      case 0: return give(CastOp{nullptr, in, below(2) == 0 ? DataType::F32 : DataType::I64});
      case 1: return give(LoadStoreOp{nullptr, in});
      case 2: return give(PointwiseOp{nullptr, FunctionId::add, {in, in}});
      case 3:
        if (rank > 0) give(ReductionOp{nullptr, in, ReductionKind::Max, {static_cast<int64_t>(below(rank))}});
        return;
      case 4:
        if (rank == 2) give(PermuteOp{nullptr, in, {1, 0}});
        return;
      default: return give(PointwiseOp{nullptr, FunctionId::neg, {in}});
    }
  }

  std::mt19937_64& random_;
  Fusion fusion_{"random"};
  std::vector<TensorView*> tensors_;
};

// One line per op and per input and output, free of addresses and of the numbers of tensors.
std::string describe(const Fusion& fusion) {
  std::string text = fmt::format("{}:", fusion.name());
  for (const Val* input : fusion.inputs()) text += fmt::format(" {}", toString(*static_cast<const TensorView*>(input)));
  for (const Expr* expr : fusion.allExprs()) {
    text += fmt::format("\n{} of", callName(*expr));
    for (const TensorView* tensor : tensorsOf(expr->inputs())) text += fmt::format(" {}", toString(*tensor));
    for (const TensorView* tensor : tensorsOf(expr->outputs())) {
      text += fmt::format(" gives {} ", toString(*tensor));
      for (const IterDomain* axis : tensor->logical()) text += iterKindLetter(axis->kind());
    }
  }
  for (const TensorView* output : fusion.outputs()) text += fmt::format("\nout {}", toString(*output));
  return text;
}

TEST(FusionProperty, ACloneIsLegalIndependentAndTheSameProgram) {
  std::mt19937_64 random(13);
  for (int64_t i = 0; i < caseCount(2'000); ++i) {
    RandomFusion source(random);
    ASSERT_NO_THROW(verify(source.fusion(), Stage::Definition));
    const auto copy = cloneFusion(source.fusion());
    ASSERT_NO_THROW(verify(*copy, Stage::Definition)) << describe(source.fusion());
    ASSERT_EQ(describe(*copy), describe(source.fusion()));
    for (const TensorView* tensor : copy->allTensors()) ASSERT_EQ(&tensor->fusion(), copy.get());
    ASSERT_EQ(copy->exprs().size(), source.fusion().exprs().size());
    ASSERT_EQ(describe(*cloneFusion(*copy)), describe(*copy));
  }
}

TEST(FusionProperty, ACloneLivesLongerThanItsSource) {
  std::mt19937_64 random(14);
  std::unique_ptr<Fusion> copy;
  std::string text;
  {
    RandomFusion source(random);
    copy = cloneFusion(source.fusion());
    text = describe(source.fusion());
  }
  EXPECT_EQ(describe(*copy), text);
  EXPECT_NO_THROW(verify(*copy, Stage::Definition));
}

TEST(FusionProperty, ACloneOfAScalarHasItsValue) {
  std::mt19937_64 random(15);
  for (int64_t done = 0; done < caseCount(20'000);) {
    Fusion fusion, target;
    RandomScalars scalars(fusion, random);
    Cloner cloner(target);
    for (int i = 0; i < 100; ++i, ++done) {
      Scalar* scalar = scalars.integer(4);
      Scalar* copy = cloner.clone(scalar);
      ASSERT_EQ(cloner.clone(scalar), copy);
      ASSERT_EQ(toString(*copy), toString(*scalar));
      const auto values = scalars.values([&] { return scalars.wideValue(); });
      test::Values copied;
      for (const auto& [symbol, value] : values) copied[cloner.clone(const_cast<Scalar*>(symbol))] = value;
      ASSERT_EQ(test::valueOf(*copy, copied), test::valueOf(*scalar, values));
    }
  }
}

}  // namespace
}  // namespace tokamak
