#include "symbolic/interval.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "symbolic/interval_analysis.h"
#include "unit/symbolic/random_scalars.h"

namespace tokamak {
namespace {

using test::caseCount;
using test::RandomScalars;
using test::valueOf;
using test::Values;

constexpr ScalarOp kBinaryOps[] = {ScalarOp::Add,     ScalarOp::Sub,      ScalarOp::Mul,  ScalarOp::FloorDiv,
                                   ScalarOp::CeilDiv, ScalarOp::Mod,      ScalarOp::Min,  ScalarOp::Max,
                                   ScalarOp::Equal,   ScalarOp::NotEqual, ScalarOp::Less, ScalarOp::LessEqual,
                                   ScalarOp::And,     ScalarOp::Or};

Interval residueClass(int64_t lower, int64_t upper, int64_t divisor, int64_t remainder) {
  const Interval shifted = apply(ScalarOp::Add, Interval::multipleOf(divisor), Interval::exactly(remainder));
  return meet(shifted, Interval::between(lower, upper));
}

// All pairs of members of all small intervals.
TEST(Interval, ContainsEveryResultOfItsMembers) {
  std::vector<Interval> intervals;
  for (int64_t lower = -5; lower <= 5; ++lower) {
    for (int64_t upper = lower; upper <= 5; upper += 2) {
      for (int64_t divisor = 1; divisor <= 4; ++divisor)
        intervals.push_back(residueClass(lower, upper, divisor, upper));
    }
  }
  int64_t checked = 0;
  for (const Interval& a : intervals) {
    for (const Interval& b : intervals) {
      for (const ScalarOp op : kBinaryOps) {
        const Interval result = apply(op, a, b);
        for (int64_t x = a.lower; x <= a.upper; ++x) {
          for (int64_t y = b.lower; y <= b.upper; ++y) {
            if (!a.contains(x) || !b.contains(y)) continue;
            const auto value = applyChecked(op, x, y);
            if (!value) continue;
            ++checked;
            ASSERT_TRUE(result.contains(asInt(*value)))
                << static_cast<int>(op) << " of " << x << " in " << toString(a) << " and " << y << " in " << toString(b)
                << " is not in " << toString(result);
          }
        }
      }
    }
  }
  EXPECT_GT(checked, 1'000'000);
}

TEST(Interval, IsSoundAtTheEndsOf64Bits) {
  std::mt19937_64 random(5);
  Fusion fusion;
  RandomScalars scalars(fusion, random);
  int64_t checked = 0;
  for (int64_t i = 0; i < caseCount(300'000); ++i) {
    Interval sides[2];
    int64_t values[2];
    for (int side = 0; side < 2; ++side) {
      const int64_t a = scalars.wideValue(), b = scalars.wideValue();
      const int64_t divisor = static_cast<int64_t>(1 + scalars.below(6));
      values[side] = scalars.below(2) == 0 ? a : b;
      sides[side] = residueClass(std::min(a, b), std::max(a, b), divisor, values[side] % divisor);
      ASSERT_TRUE(sides[side].contains(values[side]));
    }
    for (const ScalarOp op : kBinaryOps) {
      const auto value = applyChecked(op, values[0], values[1]);
      if (!value) continue;
      ++checked;
      ASSERT_TRUE(apply(op, sides[0], sides[1]).contains(asInt(*value)))
          << static_cast<int>(op) << " of " << values[0] << " in " << toString(sides[0]) << " and " << values[1]
          << " in " << toString(sides[1]) << " is not in " << toString(apply(op, sides[0], sides[1]));
    }
  }
  EXPECT_GT(checked, caseCount(300'000) * 10 / 3);
}

// Assumptions that the values below meet.
void assumeBoxes(IntervalAnalysis& analysis, RandomScalars& scalars, std::vector<std::pair<int64_t, int64_t>>& boxes,
                 bool is_small) {
  for (const Scalar* symbol : scalars.integers()) {
    const int64_t a = is_small ? scalars.smallValue() : scalars.wideValue();
    const int64_t b = is_small ? scalars.smallValue() : scalars.wideValue();
    boxes.emplace_back(std::min(a, b), std::max(a, b));
    analysis.assume(*symbol, Interval::between(boxes.back().first, boxes.back().second));
  }
}

Values drawFrom(const std::vector<std::pair<int64_t, int64_t>>& boxes, RandomScalars& scalars,
                std::mt19937_64& random) {
  size_t next = 0;
  return scalars.values([&] {
    const auto [lower, upper] = boxes[next++];
    const uint64_t span = static_cast<uint64_t>(upper) - static_cast<uint64_t>(lower);
    const uint64_t offset = span == ~uint64_t{0} ? random() : random() % (span + 1);
    const uint64_t end = scalars.below(3);
    return static_cast<int64_t>(static_cast<uint64_t>(lower) + (end == 0 ? 0 : end == 1 ? span : offset));
  });
}

TEST(IntervalAnalysis, IsSoundOnRandomScalars) {
  std::mt19937_64 random(6);
  int64_t checked = 0, bounded = 0;
  const int64_t cases = caseCount(15'000);
  for (int64_t done = 0; done < cases;) {
    Fusion fusion;
    RandomScalars scalars(fusion, random);
    IntervalAnalysis analysis;
    std::vector<std::pair<int64_t, int64_t>> boxes;
    assumeBoxes(analysis, scalars, boxes, done % 2 == 0);
    for (int i = 0; i < 25; ++i, ++done) {
      Scalar* scalar = scalars.integer(1 + static_cast<int>(scalars.below(4)));
      Scalar* other = scalars.integer(1 + static_cast<int>(scalars.below(3)));
      const Interval interval = analysis.of(*scalar);
      const bool needs_64_bit = !analysis.isWithin(*scalar, 32);
      bounded +=
          static_cast<int64_t>(interval.lower != Interval::all().lower || interval.upper != Interval::all().upper);
      for (int binding = 0; binding < 12; ++binding) {
        const Values values = drawFrom(boxes, scalars, random);
        const auto a = valueOf(*scalar, values);
        if (!a) continue;
        ++checked;
        ASSERT_TRUE(interval.contains(*a)) << toString(*scalar) << " = " << *a << " is not in " << toString(interval);
        if (!needs_64_bit) {
          ASSERT_EQ(*a, static_cast<int32_t>(*a)) << toString(*scalar);
        }
        const auto b = valueOf(*other, values);
        if (!b) continue;
        const std::string both = toString(*scalar) + " and " + toString(*other);
        if (analysis.isProvablyLess(*scalar, *other)) {
          ASSERT_LT(*a, *b) << both;
        }
        if (analysis.isProvablyLessOrEqual(*scalar, *other)) {
          ASSERT_LE(*a, *b) << both;
        }
        if (analysis.isProvablyEqual(*scalar, *other)) {
          ASSERT_EQ(*a, *b) << both;
        }
        if (analysis.isProvablyDifferent(*scalar, *other)) {
          ASSERT_NE(*a, *b) << both;
        }
        if (analysis.isProvablyDivisible(*scalar, *other) && *b > 0) {
          ASSERT_EQ(*a % *b, 0) << both;
        }
      }
    }
  }
  EXPECT_GT(checked, cases);
  EXPECT_GT(bounded, cases / 2);
}

// A loop nest of random extents over a random layout: every coordinate is visited.
TEST(IntervalAnalysis, IsSoundAtAllCoordinatesOfALoopNest) {
  std::mt19937_64 random(7);
  int64_t checked = 0;
  // Each visits thousands of points.
  for (int64_t done = 0; done < caseCount(200'000) / 100; ++done) {
    Fusion fusion;
    RandomScalars scalars(fusion, random);
    const std::vector<Scalar*>& s = scalars.integers();  // extents s[0], s[1], indices s[2], s[3]
    IntervalAnalysis analysis;
    for (int i = 0; i < 2; ++i) {
      analysis.assume(*s[static_cast<size_t>(i)], Interval::between(0, 4));
      analysis.assumeIndex(*s[static_cast<size_t>(i) + 2], *s[static_cast<size_t>(i)]);
    }
    Scalar* scalar = scalars.integer(3);
    Scalar* other = scalars.integer(2);
    const Interval interval = analysis.of(*scalar);
    const bool is_less = analysis.isProvablyLess(*scalar, *other);
    for (int64_t point = 0; point < 5 * 5 * 4 * 4 * 4; ++point) {
      Values values = {{s[0], point % 5},
                       {s[1], point / 5 % 5},
                       {s[2], point / 25 % 4},
                       {s[3], point / 100 % 4},
                       {scalars.truths()[0], point / 400 % 2},
                       {scalars.truths()[1], point / 800}};
      if (values[s[2]] >= values[s[0]] || values[s[3]] >= values[s[1]]) continue;
      const auto a = valueOf(*scalar, values);
      if (!a) continue;
      ++checked;
      ASSERT_TRUE(interval.contains(*a)) << toString(*scalar) << " = " << *a << " is not in " << toString(interval);
      const auto b = valueOf(*other, values);
      if (is_less && b) {
        ASSERT_LT(*a, *b) << toString(*scalar) << " and " << toString(*other);
      }
    }
  }
  EXPECT_GT(checked, caseCount(200'000) / 2);
}

// The cases that indexing asks about: n0, n1 extents, i in [0, n0), j in [0, n1).
class Indexing : public ::testing::Test {
 protected:
  Indexing() {
    for (Scalar* extent : {n0, n1}) analysis.assume(*extent, Interval::atLeast(0));
    analysis.assumeIndex(*i, *n0);
    analysis.assumeIndex(*j, *n1);
  }
  Scalar* constant(int64_t value) { return fusion.constant(value); }
  Scalar* raw(ScalarOp op, Scalar* a, Scalar* b) {
    Scalar* operands[] = {a, b};
    return fusion.rawScalar(op, DataType::I64, operands);
  }
  Scalar* add(Scalar* a, Scalar* b) { return raw(ScalarOp::Add, a, b); }
  Scalar* sub(Scalar* a, Scalar* b) { return raw(ScalarOp::Sub, a, b); }
  Scalar* mul(Scalar* a, Scalar* b) { return raw(ScalarOp::Mul, a, b); }
  Scalar* div(Scalar* a, Scalar* b) { return raw(ScalarOp::FloorDiv, a, b); }
  Scalar* mod(Scalar* a, Scalar* b) { return raw(ScalarOp::Mod, a, b); }
  Scalar* up(Scalar* a, Scalar* b) { return raw(ScalarOp::CeilDiv, a, b); }

  Fusion fusion;
  Scalar* n0 = fusion.symbol("n0");
  Scalar* n1 = fusion.symbol("n1");
  Scalar* i = fusion.symbol("i");
  Scalar* j = fusion.symbol("j");
  Scalar* four = fusion.constant(4);
  IntervalAnalysis analysis;
};

TEST_F(Indexing, RemaindersAreKnownByDivisibility) {
  EXPECT_EQ(analysis.of(*mod(add(mul(i, four), constant(3)), four)), Interval::exactly(3));
  EXPECT_TRUE(analysis.isProvablyDivisible(*add(mul(i, constant(8)), mul(j, constant(12))), *four));
  EXPECT_FALSE(analysis.isProvablyDivisible(*add(mul(i, constant(8)), j), *four));
  EXPECT_TRUE(analysis.isProvablyDivisible(*mul(mul(i, n1), four), *n1));
  EXPECT_TRUE(analysis.isProvablyDifferent(*add(mul(i, four), constant(1)), *mul(j, four)));
  EXPECT_TRUE(analysis.isProvablyDivisible(*div(mul(i, constant(32)), four), *constant(8)));
}

TEST_F(Indexing, RoundingUpCoversTheExtent) {
  EXPECT_TRUE(analysis.isProvablyLessOrEqual(*n0, *mul(up(n0, four), four)));
  EXPECT_TRUE(analysis.isProvablyLess(*mul(up(n0, four), four), *add(n0, four)));
  EXPECT_TRUE(analysis.isProvablyLessOrEqual(*mul(div(n0, four), four), *n0));
  EXPECT_TRUE(analysis.isProvablyLessOrEqual(*n0, *mul(up(n0, n1), n1)));
  EXPECT_FALSE(analysis.isProvablyLess(*n0, *mul(up(n0, four), four)));
  EXPECT_TRUE(analysis.isProvablyLess(*i, *mul(up(n0, four), four)));
}

TEST_F(Indexing, ALinearIndexIsWithinTheBuffer) {
  EXPECT_TRUE(analysis.isProvablyLess(*i, *n0));
  EXPECT_TRUE(analysis.isProvablyLess(*add(mul(i, n1), j), *mul(n0, n1)));
  EXPECT_TRUE(analysis.isProvablyLess(*add(mul(j, n0), i), *mul(n0, n1)));
  EXPECT_FALSE(analysis.isProvablyLess(*add(mul(i, n0), j), *mul(n0, n1)));
  EXPECT_EQ(analysis.of(*add(mul(i, n1), j)).lower, 0);
  EXPECT_TRUE(analysis.isProvablyLess(*add(mul(i, four), constant(3)), *mul(n0, four)));
  EXPECT_FALSE(analysis.isProvablyLess(*add(mul(i, four), four), *mul(n0, four)));
}

TEST_F(Indexing, AnIndexOfASplitOrMergedAxisComesBack) {
  // i = (i / 4) * 4 + i % 4, and the parts of a merged index are within their extents.
  EXPECT_TRUE(analysis.isProvablyLess(*div(i, four), *up(n0, four)));
  EXPECT_EQ(analysis.of(*mod(i, four)), Interval::between(0, 3));
  EXPECT_EQ(analysis.of(*mod(j, n1)), analysis.of(*j));
  EXPECT_EQ(analysis.of(*div(j, n1)), Interval::exactly(0));
}

TEST_F(Indexing, MinimaAreBelowTheirOperands) {
  Scalar* smaller = raw(ScalarOp::Min, mul(add(i, constant(1)), four), n1);
  EXPECT_TRUE(analysis.isProvablyLessOrEqual(*smaller, *n1));
  EXPECT_TRUE(analysis.isProvablyLessOrEqual(*sub(smaller, mul(i, four)), *four))
      << "the last chunk of a split is not longer than the others";
  EXPECT_TRUE(analysis.isProvablyLessOrEqual(*n1, *raw(ScalarOp::Max, n1, i)));
  EXPECT_FALSE(analysis.isProvablyLess(*smaller, *n1));
}

TEST_F(Indexing, WideIndicesAreSeen) {
  EXPECT_FALSE(analysis.isWithin(*mul(i, n1), 32));
  IntervalAnalysis bounded;
  bounded.assume(*n0, Interval::between(0, 1 << 20));
  bounded.assume(*n1, Interval::between(0, 1 << 10));
  bounded.assumeIndex(*i, *n0);
  bounded.assumeIndex(*j, *n1);
  EXPECT_TRUE(bounded.isWithin(*add(mul(i, n1), j), 32));
  EXPECT_FALSE(bounded.isWithin(*mod(mul(mul(i, n1), four), four), 32))
      << "a part of it is wide, although the result is not";
}

TEST_F(Indexing, ContradictionsAndOverflowsDoNotHarm) {
  IntervalAnalysis contradictory;
  contradictory.assume(*n0, Interval::between(5, 9));
  contradictory.assume(*n0, Interval::between(0, 3));
  static_cast<void>(contradictory.of(*mul(n0, n0)));
  EXPECT_EQ(contradictory.of(*div(n1, constant(0))), Interval::all());
  const int64_t most = std::numeric_limits<int64_t>::max();
  static_cast<void>(contradictory.of(*add(constant(most), constant(most))));
}

}  // namespace
}  // namespace tokamak
