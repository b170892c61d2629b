#include "compute/shape_constraints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "define/functions.h"
#include "define/structured.h"
#include "error_of.h"
#include "program_of.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

class FittingSizes : public testing::Test {
 protected:
  TensorView* floats(const Operands& shape) { return inputOf(fusion_, DataType::F32, shape); }
  std::string messageOf(const ScalarBindings& bindings) const {
    return errorOf([&] { requireShapeConstraints(fusion_, bindings); }).message();
  }
  static constexpr const char* kFits = "nothing was raised";
  Fusion fusion_;
  Scalar* n_ = fusion_.symbol("n");
  Scalar* m_ = fusion_.symbol("m");
};

TEST_F(FittingSizes, OperandsOfOneShapeHaveEqualSizes) {
  fusion_.addOutput(add(floats({n_}), floats({m_})));
  EXPECT_EQ(messageOf({{n_, int64_t{4}}, {m_, int64_t{4}}}), kFits);
  EXPECT_EQ(messageOf({{n_, int64_t{4}}}), kFits);
  EXPECT_EQ(messageOf({{n_, int64_t{4}}, {m_, int64_t{5}}}), "add: m is 5 and n is 4; they must be equal");
}

TEST_F(FittingSizes, ASliceEndsWithinItsOperand) {
  fusion_.addOutput(slice(floats({n_, 3}), 0, 1, m_, 2));
  EXPECT_EQ(messageOf({{n_, int64_t{4}}, {m_, int64_t{4}}}), kFits);
  EXPECT_THAT(messageOf({{n_, int64_t{4}}, {m_, int64_t{6}}}), HasSubstr("has size 4, but element 5 of it is read"));
  // A slice of nothing reads nothing.
  EXPECT_EQ(messageOf({{n_, int64_t{0}}, {m_, int64_t{1}}}), kFits);
}

TEST_F(FittingSizes, WhatIsReadUnderAConditionOrAtAPositionIsInBoundsByItself) {
  TensorView* x = floats({n_});
  fusion_.addOutput(pad(x, {2, 3}));
  fusion_.addOutput(take_along_axis(x, inputOf(fusion_, DataType::I64, {m_}), 0));
  EXPECT_EQ(messageOf({{n_, int64_t{4}}, {m_, int64_t{9}}}), kFits);
  EXPECT_EQ(messageOf({{n_, int64_t{0}}, {m_, int64_t{9}}}), kFits);
}

TEST_F(FittingSizes, AReshapeKeepsTheNumberOfElements) {
  fusion_.addOutput(reshape(floats({n_, m_}), {m_, n_}));
  EXPECT_EQ(messageOf({{n_, int64_t{4}}, {m_, int64_t{9}}}), kFits);
  fusion_.addOutput(reshape(floats({n_, 2}), {m_}));
  EXPECT_THAT(messageOf({{n_, int64_t{4}}, {m_, int64_t{9}}}), HasSubstr("they must be equal"));
  EXPECT_EQ(messageOf({{n_, int64_t{0}}, {m_, int64_t{0}}}), kFits);
}

}  // namespace
}  // namespace tokamak
