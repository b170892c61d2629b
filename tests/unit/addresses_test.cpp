#include "analysis/addresses.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "symbolic/scalar_simplifier.h"
#include "unit/symbolic/random_scalars.h"

namespace tokamak {
namespace {

constexpr int64_t kRounds = 12;  // that each index may go

struct Merges {
  int64_t pairs = 0;
  int64_t merged = 0;  ///< into what both are of
};

// The quotient of one index and the remainder of another, for all values of these.
void mergeAllPairs(int64_t extent, bool is_simplified, Merges& merges) {
  Fusion fusion;
  Scalar* const i = fusion.symbol("i");
  Scalar* const j = fusion.symbol("j");
  IntervalAnalysis analysis;
  for (Scalar* each : {i, j}) analysis.assumeIndex(*each, *fusion.constant(kRounds));
  Scalar* const size = fusion.constant(extent);
  const std::vector<Scalar*> indices = {i,
                                        j,
                                        fusion.add(i, fusion.constant(1)),
                                        fusion.add(i, size),
                                        fusion.add(i, fusion.mul(j, size)),
                                        fusion.add(fusion.mul(i, fusion.constant(2)), j),
                                        fusion.mul(i, size)};
  for (Scalar* const whole : indices) {
    for (Scalar* const rest : indices) {
      Scalar* outer = fusion.floorDiv(whole, size);
      Scalar* inner = fusion.mod(rest, size);
      if (is_simplified) {
        outer = simplify(outer, analysis);
        inner = simplify(inner, analysis);
      }
      Scalar* const merged = mergedIndex(fusion, analysis, outer, inner, size);
      ++merges.pairs;
      merges.merged += merged == whole ? 1 : 0;
      for (int64_t a = 0; a < kRounds; ++a) {
        for (int64_t b = 0; b < kRounds; ++b) {
          const test::Values at = {{i, a}, {j, b}};
          ASSERT_EQ(*test::valueOf(*merged, at),
                    *test::valueOf(*whole, at) / extent * extent + *test::valueOf(*rest, at) % extent)
              << toString(*outer) << ", " << toString(*inner) << " of " << extent << ": " << toString(*merged);
        }
      }
    }
  }
}

TEST(MergedIndex, CountsInRowsOfTheInnerExtent) {
  Merges merges;
  for (const int64_t extent : {2, 3, 4, 7}) {
    for (const bool is_simplified : {false, true}) mergeAllPairs(extent, is_simplified, merges);
  }
  EXPECT_EQ(merges.pairs, 8 * 49);
  EXPECT_GT(merges.merged, merges.pairs / 7);  // every index with itself, and some with another
}

}  // namespace
}  // namespace tokamak
