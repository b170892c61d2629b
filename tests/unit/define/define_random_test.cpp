#include "define/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "define/functions.h"
#include "error_of.h"
#include "ir/ops/math/cast_op.h"
#include "program_of.h"
#include "symbolic/formulas.h"

namespace tokamak {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DefineRandom : public testing::Test {
 protected:
  // Of the philox op among the ops that make `tensor`.
  static int64_t numberOf(const TensorView* tensor) {
    const Expr* expr = tensor->definition();
    while (callName(*expr) != "philox") expr = asTensor(expr->input(0))->definition();
    return *asScalar(expr->input(1))->constantInt();
  }
  Fusion fusion_;
  RandomState state_{fusion_.symbol("seed"), 3};
};

TEST_F(DefineRandom, NumbersAreMadeOfTheirPositions) {
  EXPECT_EQ(describe(*rand(fusion_, {2, 6}, state_)), "f32[2, 6]");
  EXPECT_THAT(programOf(fusion_),
              ElementsAre("iota i64[12]", "reshape i64[2, 6]", "philox i64[2, 6]", "bitwise_right_shift i64[2, 6]",
                          "cast i32[2, 6]", "cast f32[2, 6]", "mul f32[2, 6]"));
}

TEST_F(DefineRandom, OpsAreNumberedOneAfterTheOther) {
  EXPECT_EQ(numberOf(rand(fusion_, {2}, state_)), 0);
  EXPECT_EQ(numberOf(rand(fusion_, {2}, state_)), 1);
  EXPECT_EQ(numberOf(rand(fusion_, {2}, {state_.seed, state_.offset, 9})), 9);
  EXPECT_EQ(numberOf(rand(fusion_, {2}, state_)), 10);
}

TEST_F(DefineRandom, DropoutKeepsItsOperandsTypeAndTellsWhatStays) {
  TensorView* x = inputOf(fusion_, DataType::BF16, {4, 8});
  const Dropout result = dropout(x, 0.25, state_);
  EXPECT_EQ(describe(*result.out), "bf16[4, 8]");
  EXPECT_EQ(describe(*result.mask), "bool[4, 8]");
  EXPECT_EQ(describe(*dropout_backward(x, result.mask, 0.25)), "bf16[4, 8]");
  EXPECT_EQ(describe(*uniform(fusion_, {}, -1, 1, state_)), "f32[]");
}

TEST_F(DefineRandom, DistributionsAreOfEveryFloatingType) {
  for (const DataType dtype : {DataType::F64, DataType::F32, DataType::F16, DataType::BF16}) {
    const std::string expected = std::string(dataTypeName(dtype)) + "[3]";
    EXPECT_EQ(describe(*uniform(fusion_, {3}, -1, 1, state_, dtype)), expected);
    EXPECT_EQ(describe(*normal(fusion_, {3}, -1, 1, state_, dtype)), expected);
  }
}

TEST_F(DefineRandom, NumbersOfF64TakeTwoWords) {
  EXPECT_EQ(describe(*uniform(fusion_, {2, 6}, 0, 1, {state_.seed, 3, 5}, DataType::F64)), "f64[2, 6]");
  EXPECT_THAT(programOf(fusion_),
              ElementsAre("iota i64[12]", "reshape i64[2, 6]", "philox i64[2, 6]", "bitwise_right_shift i64[2, 6]",
                          "iota i64[12]", "reshape i64[2, 6]", "philox i64[2, 6]", "bitwise_right_shift i64[2, 6]",
                          "mul i64[2, 6]", "add i64[2, 6]", "cast f64[2, 6]", "mul f64[2, 6]", "mul f64[2, 6]",
                          "add f64[2, 6]", "minimum f64[2, 6]"));
  EXPECT_EQ(numberOf(rand(fusion_, {2}, state_)), 6);
}

// The largest number below each limit, by its type.
TEST_F(DefineRandom, UniformNumbersEndBelowTheirLimit) {
  const auto largest = [&](double low, double high, DataType dtype) {
    const Expr* expr = uniform(fusion_, {2}, low, high, state_, dtype)->definition();
    if (expr->is<CastOp>()) expr = asTensor(expr->input(0))->definition();
    return asDouble(asScalar(expr->input(1))->value());
  };
  EXPECT_EQ(largest(0, 1, DataType::F32), 1 - 0x1p-24);
  EXPECT_EQ(largest(0, 1, DataType::F64), 1 - 0x1p-53);
  EXPECT_EQ(largest(0, 1, DataType::F16), 1 - 0x1p-11);
  EXPECT_EQ(largest(0, 1, DataType::BF16), 1 - 0x1p-8);
  EXPECT_EQ(largest(-1, 0, DataType::F16), -0x1p-24);
  EXPECT_EQ(largest(-2, -1, DataType::BF16), -1 - 0x1p-7);
  EXPECT_EQ(largest(3, 3, DataType::F16), 3);            // nothing is below
  EXPECT_EQ(largest(1, 1 + 0x1p-12, DataType::F16), 1);  // both are 1
}

TEST_F(DefineRandom, IllegalUsesAreNamed) {
  const auto message = [](const auto& call) { return errorOf(call).message(); };
  TensorView* x = inputOf(fusion_, DataType::F32, {4});
  EXPECT_THAT(message([&] { rand(fusion_, {2}, {0.5, 0}); }), HasSubstr("rand: the seed is of type f64"));
  EXPECT_THAT(message([&] { rand(fusion_, {2}, {0, true}); }), HasSubstr("rand: the offset is of type bool"));
  EXPECT_THAT(message([&] { dropout(x, 1.5, state_); }), HasSubstr("dropout: 1.5 is no probability"));
  EXPECT_THAT(message([&] { dropout_backward(x, x, -1); }), HasSubstr("dropout_backward: -1 is no probability"));
  EXPECT_THAT(message([&] { uniform(fusion_, {2}, 1, 0, state_); }), HasSubstr("uniform: 1 to 0 is no range of f32"));
  EXPECT_THAT(message([&] { uniform(fusion_, {2}, -3e38, 3e38, state_); }), HasSubstr("is no range of f32"));
  EXPECT_THAT(message([&] { uniform(fusion_, {2}, 0, 1e5, state_, DataType::F16); }),
              HasSubstr("uniform: 0 to 100000 is no range of f16"));
  EXPECT_THAT(message([&] { uniform(fusion_, {2}, 0, 1, state_, DataType::I32); }),
              HasSubstr("uniform: its numbers cannot be i32; they are of a floating type"));
  EXPECT_THAT(message([&] { normal(fusion_, {2}, 0, 1, state_, DataType::Bool); }),
              HasSubstr("normal: its numbers cannot be bool"));
  EXPECT_THAT(message([&] { normal(fusion_, {2}, 0, -1, state_); }),
              HasSubstr("normal: a mean of 0 and a deviation of -1 are refused"));
  Scalar* seed = fusion_.symbol("other");
  EXPECT_THAT(message([&] { philox(seed, seed, seed, seed); }), HasSubstr("philox: takes at least one tensor"));
}

// The test vectors that Random123 publishes for philox4x32 with 10 rounds.
TEST(PhiloxFormula, GivesThePublishedKnownAnswers) {
  const auto words = [](uint64_t counter_low, uint64_t counter_high, uint64_t key) {
    std::vector<uint32_t> result;
    for (int64_t i = 0; i < 4; ++i) {
      result.push_back(static_cast<uint32_t>(formula::philoxWord<int64_t>(
          i, static_cast<int64_t>(counter_high), static_cast<int64_t>(key), static_cast<int64_t>(counter_low))));
    }
    return result;
  };
  EXPECT_THAT(words(0, 0, 0), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(words(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(words(0x85a308d3243f6a88, 0x0370734413198a2e, 0x299f31d0a4093822),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

}  // namespace
}  // namespace tokamak
