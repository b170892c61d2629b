#include "symbolic/sample_points.h"

#include <gtest/gtest.h>

#include "symbolic/interval_analysis.h"
#include "unit/symbolic/random_scalars.h"

namespace tokamak {
namespace {

using test::caseCount;
using test::RandomScalars;
using test::valueOf;
using test::Values;

// The point with this number, as a binding of the symbols; nothing where it does not meet the assumptions.
std::optional<Values> bindingAt(size_t point, const RandomScalars& scalars, SamplePoints& sample_points) {
  Values values;
  for (const auto& symbols : {scalars.integers(), scalars.truths()}) {
    for (const Scalar* symbol : symbols) {
      const SamplePoints::Values at = sample_points.of(*symbol);
      if (!at.has(point)) return std::nullopt;
      values[symbol] = at.at[point];
    }
  }
  return values;
}

TEST(SamplePoints, AreWhatScalarsAreAtPointsThatMeetTheAssumptions) {
  std::mt19937_64 random(81);
  int64_t points = 0, compared = 0;
  const int64_t cases = caseCount(40'000) / 10;
  for (int64_t i = 0; i < cases; ++i) {
    Fusion fusion;
    RandomScalars scalars(fusion, random);
    SamplePoints sample_points;
    IntervalAnalysis analysis;
    // An index of an extent, a multiple in a range, and something that is known of a composite.
    Scalar* extent = scalars.integers()[0];
    Scalar* index = scalars.integers()[1];
    Scalar* boxed = scalars.integers()[2];
    const Interval sizes = Interval::between(static_cast<int64_t>(scalars.below(3)), 50);
    const Interval box =
        meet(Interval::multipleOf(static_cast<int64_t>(1 + scalars.below(5))), Interval::between(-9, 40));
    Scalar* composite = scalars.integer(2);
    const Interval known = Interval::atLeast(scalars.smallValue());
    const auto tell = [&](auto& to) {
      to.assume(*extent, sizes);
      to.assumeIndex(*index, *extent);
      to.assume(*boxed, box);
      to.assume(*composite, known);
    };
    tell(sample_points);
    tell(analysis);
    for (size_t point = 0; point < SamplePoints::kPoints; ++point) {
      const std::optional<Values> values = bindingAt(point, scalars, sample_points);
      if (!values) continue;
      ++points;
      ASSERT_TRUE(sizes.contains(values->at(extent)));
      ASSERT_TRUE(box.contains(values->at(boxed)));
      ASSERT_GE(values->at(index), 0);
      ASSERT_LT(values->at(index), values->at(extent));
      const auto assumed = valueOf(*composite, *values);
      ASSERT_TRUE(!assumed || known.contains(*assumed)) << toString(*composite);
      for (int k = 0; k < 6; ++k) {
        Scalar* scalar = k % 2 == 0 ? scalars.integer(4) : scalars.truth(3);
        const auto expected = valueOf(*scalar, *values);
        const SamplePoints::Values seen = sample_points.of(*scalar);
        // valueOf() wants a value of both branches of a choice.
        if (!seen.has(point) || !expected) continue;
        ++compared;
        ASSERT_EQ(seen.at[point], *expected) << toString(*scalar);
        ASSERT_TRUE(analysis.of(*scalar).contains(*expected))
            << toString(*scalar) << " is " << *expected << ", not in " << toString(analysis.of(*scalar));
      }
    }
  }
  EXPECT_GT(points, cases / 2);
  EXPECT_GT(compared, cases * 2);
}

TEST(SamplePoints, SayNothingWhereNoPointMeetsTheAssumptions) {
  Fusion fusion;
  Scalar* a = fusion.symbol("a");
  Scalar* b = fusion.symbol("b");
  SamplePoints sample_points;
  EXPECT_NE(sample_points.of(*b).known, 0);
  sample_points.assume(*a, Interval::between(0, 3));
  sample_points.assume(*fusion.add(a, fusion.constant(1)), Interval::atLeast(9));
  EXPECT_EQ(sample_points.of(*b).known, 0);
}

// An assumption that comes later drops the points that were chosen without it.
TEST(SamplePoints, MeetAssumptionsThatComeAfterAQuestion) {
  Fusion fusion;
  Scalar* a = fusion.symbol("a");
  SamplePoints sample_points;
  const SamplePoints::Values before = sample_points.of(*a);
  sample_points.assume(*a, Interval::atLeast(50));
  const SamplePoints::Values after = sample_points.of(*a);
  for (size_t i = 0; i < SamplePoints::kPoints; ++i) EXPECT_EQ(after.has(i), before.has(i) && before.at[i] >= 50);
}

}  // namespace
}  // namespace tokamak
