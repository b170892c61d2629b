// Which outputs of a fusion are views, decided without sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "define/callables.h"
#include "graph/view_outputs.h"
#include "ir/text/fusion_parser.h"
#include "program_of.h"

namespace tokamak {
namespace {

// "T1 of T0 by 1": and so many steps.
std::vector<std::string> viewsOf(const std::string& text) {
  const auto fusion = fusionFrom(text);
  std::vector<std::string> views;
  for (const ViewOutput& view : viewOutputsOf(*fusion)) {
    EXPECT_EQ(view.chain.back()->output(0), view.output);
    views.push_back(nameOf(*view.output) + " of " + nameOf(*asTensor(view.chain.front()->inputs()[0])) + " by " +
                    std::to_string(view.chain.size()));
  }
  return views;
}

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ViewOutputs, ComeFromInputsAndFromComputedOutputs) {
  EXPECT_THAT(
      viewsOf("fusion f(T0: f32[i0, i2]) -> (T1, T2, T3, T4) { T1 = permute(T0, order=[1, 0]) T2 = exp(T1) T3 = "
              "select(T2, axis=0, index=0) T4 = broadcast(T3, flags=[true, false]) }"),
      ElementsAre("T1 of T0 by 1", "T3 of T2 by 1", "T4 of T2 by 2"));
  EXPECT_THAT(viewsOf("fusion f(T0: f32[i0, i2]) -> (T2) { T1 = exp(T0) T2 = permute(T1, order=[1, 0]) }"), IsEmpty());
  EXPECT_THAT(viewsOf("fusion f(T0: f32[i0, i2]) -> (T1) { T1 = set(T0) }"), IsEmpty());
  EXPECT_THAT(viewsOf("fusion f(T0: f32[i0, i2]) -> (T2) { T1 = set(T0) T2 = permute(T1, order=[1, 0]) }"), IsEmpty());
}

TEST(ViewOutputs, ThatAreRequiredOtherwiseAreWhatOthersComeFrom) {
  EXPECT_THAT(
      viewsOf("fusion f(T0: f32[i0, i2]) -> (T1, T2) { T1: f32[i2, i0] stride_order(1, 0) = permute(T0, order=[1, "
              "0]) T2 = permute(T1, order=[1, 0]) }"),
      ElementsAre("T2 of T1 by 1"));
  EXPECT_THAT(
      viewsOf("fusion f(T0: f32[i0, i2]) -> (T1) { T1: f32[i2, i0] allocation(1, 0) = permute(T0, order=[1, 0]) }"),
      ElementsAre("T1 of T0 by 1"));
  EXPECT_THAT(viewsOf("fusion f(T0: f32[i0, i2] strided) -> (T1) { T1: f32[i2, i0] allocation(1, 0) = permute(T0, "
                      "order=[1, 0]) }"),
              IsEmpty());
  EXPECT_THAT(viewsOf("fusion f(T0: f32[i0, i2] allocation(1, 0)) -> (T1, T2) { T1: f32[i2, i0] stride_order(1, 0) = "
                      "permute(T0, order=[1, 0]) T2 = reshape(T0, shape=[i0 * i2]) }"),
              ElementsAre("T1 of T0 by 1"));
}

TEST(ViewOutputs, ReshapeWhatLiesInRowsWithoutGaps) {
  const auto reshaped = [](const std::string& of) {
    return viewsOf("fusion f(T0: f32[i0, 6, i2]) -> (T1) { T1 = reshape(" + of + ") }");
  };
  EXPECT_THAT(reshaped("T0, shape=[i0 * 6, i2]"), ElementsAre("T1 of T0 by 1"));
  EXPECT_THAT(reshaped("T0, shape=[i0, 2, 3, i2]"), ElementsAre("T1 of T0 by 1"));
  EXPECT_THAT(reshaped("broadcast(T0, flags=[false, true, false, false]), shape=[i0, 6 * i2]"),
              ElementsAre("T1 of T0 by 2"));
  EXPECT_THAT(reshaped("select(T0, axis=0, index=1), shape=[6 * i2]"), ElementsAre("T1 of T0 by 2"));
  EXPECT_THAT(reshaped("select(T0, axis=1, index=1), shape=[i0 * i2]"), IsEmpty());
  EXPECT_THAT(reshaped("slice(T0, starts=[1, 0, 0], stops=[i0, 6, i2], steps=[1, 1, 1]), shape=[(i0 - 1) * 6, i2]"),
              ElementsAre("T1 of T0 by 2"));
  EXPECT_THAT(
      reshaped("slice(T0, starts=[0, 0, 0], stops=[i0, 6, i2], steps=[2, 1, 1]), shape=[ceilDiv(i0, 2) * 6, i2]"),
      IsEmpty());
  EXPECT_THAT(reshaped("permute(T0, order=[1, 0, 2]), shape=[6 * i0, i2]"), IsEmpty());
  EXPECT_THAT(reshaped("permute(permute(T0, order=[1, 0, 2]), order=[1, 0, 2]), shape=[6 * i0, i2]"),
              ElementsAre("T1 of T0 by 3"));
}

TEST(ViewOutputs, SplitAndMergeAxesAsStridesTell) {
  const auto reshaped = [](const std::string& of, const std::string& declared = "") {
    return viewsOf("fusion f(T0: f32[i0, 6, i2]" + declared + ") -> (T1) { T1 = reshape(" + of + ") }");
  };
  EXPECT_THAT(reshaped("permute(T0, order=[1, 0, 2]), shape=[2, 3, i0, i2]"), ElementsAre("T1 of T0 by 2"));
  EXPECT_THAT(reshaped("slice(T0, starts=[0, 2, 0], stops=[i0, 6, i2]), shape=[i0, 2, 2, i2]"),
              ElementsAre("T1 of T0 by 2"));
  EXPECT_THAT(reshaped("slice(T0, starts=[0, 2, 0], stops=[i0, 6, i2]), shape=[i0, 4 * i2]"),
              ElementsAre("T1 of T0 by 2"));
  EXPECT_THAT(reshaped("slice(T0, starts=[0, 2, 0], stops=[i0, 6, i2]), shape=[i0 * 4, i2]"), IsEmpty());
  EXPECT_THAT(reshaped("slice(T0, starts=[0, 0, 0], stops=[i0, 6, i2], steps=[1, 2, 1]), shape=[i0 * 3, i2]"),
              ElementsAre("T1 of T0 by 2"));
  EXPECT_THAT(reshaped("slice(T0, starts=[0, 0, 1], stops=[i0, 6, i2]), shape=[i0 * 6, i2 - 1]"),
              ElementsAre("T1 of T0 by 2"));
  EXPECT_THAT(reshaped("select(T0, axis=2, index=1), shape=[i0 * 6]"), ElementsAre("T1 of T0 by 2"));
  EXPECT_THAT(reshaped("permute(T0, order=[2, 0, 1]), shape=[i2, i0 * 6]"), ElementsAre("T1 of T0 by 2"));
  EXPECT_THAT(reshaped("permute(T0, order=[2, 1, 0]), shape=[i2, i0 * 6]"), IsEmpty());
  EXPECT_THAT(reshaped("T0, shape=[i0, 3, 2, i2]", " strided"), ElementsAre("T1 of T0 by 1"));
  EXPECT_THAT(reshaped("T0, shape=[i0 * 6, i2]", " strided"), IsEmpty());
}

TEST(ViewOutputs, AreNoneOfWhatIsUpdatedOrMarked) {
  EXPECT_THAT(
      viewsOf("fusion f(T0: f32[i0, i2]) -> (T1 aliases T0, T2, T3) { T1 = add(T0, 1.0) T2 = permute(T0, order=[1, "
              "0]) T3 = permute(T1, order=[1, 0]) }"),
      IsEmpty());
  EXPECT_THAT(viewsOf("fusion f(T0: f32[i0, i2]) -> (T1) { T1: f32[i2, i0] in host = permute(T0, order=[1, 0]) }"),
              IsEmpty());
}

TEST(ViewOutputs, LeaveAFusionOfTheOthers) {
  const auto fusion =
      fusionFrom("fusion f(T0: f32[i0, i2]) -> (T1, T2) { T1 = permute(T0, order=[1, 0]) T3 = exp(T1) T2 = neg(T3) }");
  const FusionWithoutViews parts = takeViewOutputs(*fusion);
  ASSERT_EQ(parts.views.size(), 1U);
  ASSERT_EQ(parts.fusion->outputs().size(), 1U);
  EXPECT_EQ(nameOf(*parts.fusion->outputs()[0]), "T2");
  EXPECT_EQ(parts.fusion->exprs().size(), 3U);
}

}  // namespace
}  // namespace tokamak
