#include "analysis/indexed_extents.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "define/callables.h"
#include "ir/text/fusion_parser.h"

namespace tokamak {
namespace {

// The extents that the input of this name indexes, as text.
std::vector<std::string> indexedBy(const std::string& text, size_t input) {
  const auto fusion = parseFusion(text, "text", {.resolver = &definingResolver()});
  const IndexedExtents indexed(*fusion);
  std::vector<std::string> extents;
  for (const Scalar* extent : indexed.of(*asTensor(fusion->inputs()[input]))) extents.push_back(toString(*extent));
  std::ranges::sort(extents);
  return extents;
}

using testing::ElementsAre;
using testing::IsEmpty;

TEST(IndexedExtents, OfRowsOfATable) {
  const std::string text = "fusion f(T0: i64[tokens], T1: bf16[words, width]) -> T2 { T2 = embedding(T1, T0) }";
  EXPECT_THAT(indexedBy(text, 0), ElementsAre("words"));
  EXPECT_THAT(indexedBy(text, 1), IsEmpty());
}

TEST(IndexedExtents, OfClassesOfACrossEntropy) {
  const std::string text =
      "fusion f(T0: f32[rows, classes], T1: i64[rows]) -> T2 { T2 = cross_entropy(T0, T1, reduction=each) }";
  EXPECT_THAT(indexedBy(text, 1), ElementsAre("classes"));
}

TEST(IndexedExtents, GoThroughIntegerOps) {
  const std::string text =
      "fusion f(T0: i32[m, n], T1: f32[a], T2: f32[b], T3: i32[n]) -> (T9, T8) {\n"
      "  T4 = permute(T0, order=[1, 0])\n  T5 = add(cast(T4, dtype=i64), 1)\n  T6 = reshape(T5, shape=[n * m])\n"
      "  T8 = index_select(T1, 0, T6)\n  T9 = index_select(T2, 0, T6)\n}";
  EXPECT_THAT(indexedBy(text, 0), ElementsAre("a", "b"));
  EXPECT_THAT(indexedBy(text, 3), IsEmpty());
}

TEST(IndexedExtents, AFloatThatIsCastToAnIndexIsNone) {
  const std::string text = "fusion f(T0: f32[n], T1: f32[a]) -> T2 { T2 = index_select(T1, 0, cast(T0, dtype=i64)) }";
  EXPECT_THAT(indexedBy(text, 0), IsEmpty());
}

}  // namespace
}  // namespace tokamak
