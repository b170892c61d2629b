#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "define/functions.h"
#include "define/softmax.h"
#include "define/structured.h"
#include "loop_text.h"
#include "program_of.h"
#include "schedule/propagate.h"
#include "schedule/transforms.h"

namespace tokamak {
namespace {

class SchedulePropagate : public testing::Test {
 protected:
  TensorView* floats(const Operands& shape) { return inputOf(fusion_, DataType::F32, shape); }
  Fusion fusion_;
};

TEST_F(SchedulePropagate, SplitsAndMarksReachAllProducersButInputs) {
  TensorView* in = floats({fusion_.symbol("i0"), 8});
  TensorView* a = exp(in);
  TensorView* b = neg(a);
  split(b, 0, 128);
  parallelize(b, 0, ParallelType::Stream);
  propagate(b);
  EXPECT_EQ(loopText(*a), "iStream{( ceilDiv(i0, 128) )}, iS{128}, iS{8}");
  EXPECT_EQ(loopText(*in), "iS{i0}, iS{8}");
}

TEST_F(SchedulePropagate, ConsumersAreLeftAlone) {
  TensorView* a = exp(floats({4, 8}));
  const TensorView* b = neg(a);
  parallelize(a, 0, ParallelType::Stream);
  propagate(a);
  EXPECT_EQ(loopText(*b), "iS{4}, iS{8}");
}

TEST_F(SchedulePropagate, ASoftmaxOverRowsIsMarkedThroughout) {
  TensorView* out =
      cast(softmax(inputOf(fusion_, DataType::BF16, {fusion_.symbol("i0"), fusion_.symbol("i2")})), DataType::BF16);
  split(out, 0, 128);
  parallelize(out, 0, ParallelType::Stream);
  propagate(out);
  for (const Expr* expr : fusion_.allExprs()) {
    const auto* tensor = asTensor(expr->output(0));
    EXPECT_TRUE(tensor->axis(0)->isStream()) << describe(*tensor);
    EXPECT_EQ(tensor->axis(1)->extent(), fusion_.constant(128)) << describe(*tensor);
    EXPECT_FALSE(tensor->axis(2)->isStream()) << describe(*tensor);
  }
}

TEST_F(SchedulePropagate, StepsOnAReductionAxisReachTheAxisItRunsOver) {
  TensorView* a = exp(floats({4, 64}));
  TensorView* total = sum(a, {1});
  split(total, 1, 16);
  parallelize(total, 2, ParallelType::TIDx);
  propagate(total);
  EXPECT_EQ(loopText(*a), "iS{4}, iS{4}, iTIDx{16}");
}

TEST_F(SchedulePropagate, ABroadcastAxisDoesNotTakeTheMarkOfASizedOne) {
  TensorView* row = exp(floats({8}));
  TensorView* out = add(exp(floats({4, 8})), row);
  const TensorView* wide = asTensor(out->definition()->input(1));
  parallelize(out, 0, ParallelType::Stream);
  propagate(out);
  EXPECT_EQ(loopText(*wide), "bS{1}, iS{8}");
  EXPECT_EQ(loopText(*row), "iS{8}");
  EXPECT_TRUE(asTensor(out->definition()->input(0))->axis(0)->isStream());
}

TEST_F(SchedulePropagate, ItEndsWhereAxesDoNotGoAlong) {
  TensorView* a = exp(floats({4, 8}));
  TensorView* flat = reshape(a, {32});
  TensorView* b = neg(flat);
  parallelize(b, 0, ParallelType::Stream);
  propagate(b);
  EXPECT_TRUE(flat->axis(0)->isStream());
  EXPECT_EQ(loopText(*a), "iS{4}, iS{8}");
}

TEST_F(SchedulePropagate, AMatrixProductTakesItsRowsFromTheLeftOperandOnly) {
  TensorView* a = exp(floats({4, 8}));
  TensorView* b = exp(floats({8, 6}));
  TensorView* c = matmul(a, b);
  parallelize(c, 0, ParallelType::Stream);
  propagate(c);
  EXPECT_EQ(loopText(*a), "iStream{4}, iS{8}");
  EXPECT_EQ(loopText(*b), "iS{8}, iS{6}");
}

TEST_F(SchedulePropagate, OrderAndMergesAreFollowed) {
  TensorView* a = permute(exp(floats({8, 4})), {1, 0});
  TensorView* b = neg(a);
  split(b, 1, 2);
  reorder(b, {1, 0, 2});
  merge(b, 0);
  parallelize(b, 0, ParallelType::Stream);
  propagate(b);
  EXPECT_EQ(loopText(*a), "iStream{16}, iS{2}");
  const auto* source = asTensor(a->definition()->input(0));
  EXPECT_EQ(loopText(*source), "iStream{16}, iS{2}");
}

TEST_F(SchedulePropagate, WhatAProducerHasAlreadyStays) {
  TensorView* a = exp(floats({64, 8}));
  TensorView* b = exp(a);
  TensorView* c = neg(b);
  split(a, 0, 4);
  parallelize(b, 0, ParallelType::BIDx);
  split(c, 0, 16);
  parallelize(c, 0, ParallelType::Stream);
  propagate(c);
  EXPECT_EQ(loopText(*b), "iBIDx{64}, iS{8}");
  EXPECT_EQ(loopText(*a), "iS{16}, iS{4}, iS{8}");
}

TEST_F(SchedulePropagate, DoneTwiceItChangesNothing) {
  TensorView* a = exp(floats({64, 8}));
  TensorView* b = neg(a);
  split(b, 0, 16);
  parallelize(b, 0, ParallelType::Stream);
  propagate(b);
  const std::string once = loopText(*a);
  propagate(b);
  EXPECT_EQ(loopText(*a), once);
  EXPECT_EQ(once, "iStream{4}, iS{16}, iS{8}");
}

TEST_F(SchedulePropagate, AProducerReadTwiceIsDoneOnce) {
  TensorView* a = exp(floats({64}));
  TensorView* out = add(neg(a), a);
  split(out, 0, 16);
  parallelize(out, 0, ParallelType::Stream);
  propagate(out);
  EXPECT_EQ(loopText(*a), "iStream{4}, iS{16}");
}

}  // namespace
}  // namespace tokamak
