#include <gmock/gmock.h>

#include "loop_text.h"
#include "unit/schedule/schedule_case.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

constexpr const char* kRows = "fusion f(T0: f32[i0, i2]) -> T1 { T1 = sum(T0, axes=[1]) }\n";
constexpr const char* kTwoAxes = "fusion f(T0: f32[i0, i2, i3]) -> T1 { T1 = max(T0, axes=[1, 2]) }\n";

std::string axesText(const Axes& axes) {
  std::string text;
  for (const IterDomain* axis : axes) {
    text += text.empty() ? "" : ", ";
    text += iterKindLetter(axis->kind());
    text += "{" + toString(*axis->extent()) + (axis->isRFactor() ? "}rf" : "}");
  }
  return text;
}

TEST(ScheduleRfactor, TheNamedPartIsReducedFirst) {
  const auto fusion =
      fusionFrom(std::string(kRows) + "schedule { split(T1, axis=1, factor=4) T2 = rfactor(T1, axes=[1]) }");
  const TensorView* part = tensorOf(*fusion, 2);
  EXPECT_EQ(axesText(part->domain().root), "i{i0}, r{i2}");
  EXPECT_EQ(axesText(part->logical()), "i{i0}, r{( ceilDiv(i2, 4) )}rf, i{4}rf");
  EXPECT_EQ(axesText(tensorOf(*fusion, 1)->logical()), "i{i0}, r{4}");
}

TEST(ScheduleRfactor, TheTextShowsTheReductionAsItWas) {
  EXPECT_EQ(after(kRows, "split(T1, axis=1, factor=4) T2 = rfactor(T1, axes=[1])"),
            "  T1: f32[i0, r{i2}] = sum(T0, axes=[1])\n}\nschedule {\n  split(T1, axis=1, factor=4)\n"
            "  T2 = rfactor(T1, axes=[1])\n}\n");
}

TEST(ScheduleRfactor, StepsThatTheNamedAxesDoNotNeedStayLoops) {
  EXPECT_EQ(scheduleAfter(kRows,
                          "split(T1, axis=1, factor=32) split(T1, axis=2, factor=4) split(T1, axis=0, factor=2) "
                          "reorder(T1, order=[0, 3, 1, 4, 2]) parallelize(T1, axis=1, type=TIDx) "
                          "parallelize(T1, axis=0, type=BIDx) T2 = rfactor(T1, axes=[4])"),
            "  split(T1, axis=1, factor=32)\n  T2 = rfactor(T1, axes=[1])\n  split(T2, axis=0, factor=2)\n  split(T2, "
            "axis=3, factor=4)\n  reorder(T2, order=[0, 3, 1, 4, 2])\n  parallelize(T2, axis=0, type=BIDx)\n"
            "  parallelize(T2, axis=1, type=TIDx)\n  split(T1, axis=0, factor=2)\n  split(T1, axis=2, factor=4)\n"
            "  reorder(T1, order=[0, 2, 1, 3])\n  parallelize(T1, axis=0, type=BIDx)\n  parallelize(T1, axis=1, "
            "type=TIDx)\n");
}

TEST(ScheduleRfactor, MergedAxesAreFactored) {
  EXPECT_EQ(scheduleAfter(kTwoAxes, "merge(T1, axis=1) split(T1, axis=1, factor=8) T2 = rfactor(T1, axes=[1])"),
            "  merge(T1, axis=1)\n  split(T1, axis=1, factor=8)\n  T2 = rfactor(T1, axes=[1])\n");
  EXPECT_EQ(scheduleAfter(kTwoAxes,
                          "reorder(T1, order=[2, 0, 1]) reorder(T1, order=[1, 0, 2]) merge(T1, axis=1) "
                          "split(T1, axis=1, factor=8) T2 = rfactor(T1, axes=[2])"),
            "  reorder(T1, order=[0, 2, 1])\n  merge(T1, axis=1)\n  split(T1, axis=1, factor=8)\n"
            "  T2 = rfactor(T1, axes=[2])\n");
}

TEST(ScheduleRfactor, AnotherReductionAxisIsLeftToTheRest) {
  const auto fusion =
      fusionFrom(std::string(kTwoAxes) + "schedule { split(T1, axis=2, factor=4) T2 = rfactor(T1, axes=[2]) }");
  EXPECT_EQ(axesText(tensorOf(*fusion, 2)->logical()), "i{i0}, i{i2}, r{( ceilDiv(i3, 4) )}rf, i{4}rf");
  EXPECT_EQ(axesText(tensorOf(*fusion, 1)->logical()), "i{i0}, r{i2}, r{4}");
  EXPECT_EQ(after(kTwoAxes, "split(T1, axis=2, factor=4) T2 = rfactor(T1, axes=[2])"),
            "  T1: f32[i0, r{i2}, r{i3}] = max(T0, axes=[1, 2])\n}\nschedule {\n  split(T1, axis=2, factor=4)\n"
            "  T2 = rfactor(T1, axes=[2])\n}\n");
}

TEST(ScheduleRfactor, WithoutStepsItIsTwoReductions) {
  EXPECT_EQ(
      after(kTwoAxes, "split(T1, axis=1, factor=4) T2 = rfactor(T1, axes=[3]) parallelize(T2, axis=0, type=BIDx)"),
      "  T2: f32[i0, i2, r{i3}] = max(T0, axes=[2])\n  T1: f32[i0, r{i2}] = max(T2, axes=[1])\n}\nschedule {\n"
      "  split(T2, axis=1, factor=4)\n  parallelize(T2, axis=0, type=BIDx)\n  split(T1, axis=1, factor=4)\n}\n");
}

TEST(ScheduleRfactor, TheRestIsFactoredAgain) {
  EXPECT_EQ(after(kRows,
                  "split(T1, axis=1, factor=32) T2 = rfactor(T1, axes=[1]) split(T1, axis=1, factor=8) "
                  "T3 = rfactor(T1, axes=[1]) parallelize(T3, axis=2, type=TIDx) parallelize(T1, axis=1, type=TIDx) "
                  "set_memory_type(T2, shared) split(T2, axis=1, factor=2) inline_at(T3, position=1)"),
            "  T1: f32[i0, r{i2}] = sum(T0, axes=[1])\n}\nschedule {\n  split(T1, axis=1, factor=32)\n"
            "  T2 = rfactor(T1, axes=[1])\n  split(T1, axis=1, factor=8)\n  T3 = rfactor(T1, axes=[1])\n"
            "  set_memory_type(T2, type=shared)\n  split(T2, axis=1, factor=2)\n  parallelize(T3, axis=2, type=TIDx)\n"
            "  parallelize(T1, axis=1, type=TIDx)\n  inline_at(T3, position=1)\n}\n");
}

TEST(ScheduleRfactor, APartWithoutStepsBelongsToTheChainBehindAnother) {
  EXPECT_EQ(after(kTwoAxes, "split(T1, axis=1, factor=4) T2 = rfactor(T1, axes=[1]) T3 = rfactor(T1, axes=[2])"),
            "  T1: f32[i0, r{i2}, r{i3}] = max(T0, axes=[1, 2])\n}\nschedule {\n  split(T1, axis=1, factor=4)\n"
            "  T2 = rfactor(T1, axes=[1])\n  T3 = rfactor(T1, axes=[2])\n}\n");
}

TEST(ScheduleRfactor, LoopsOfThePartGoAlongWithTheOperandAndTheRest) {
  const char* text = "fusion f(T0: f32[i0, i2]) -> T2 { T1 = exp(T0) T2 = sum(T1, axes=[1]) }\n";
  EXPECT_EQ(scheduleAfter(text,
                          "split(T2, axis=1, factor=4) reorder(T2, order=[0, 2, 1]) T3 = rfactor(T2, axes=[2]) "
                          "transform_like(T3) inline_most()"),
            "  split(T1, axis=1, factor=4)\n  reorder(T1, order=[0, 2, 1])\n  split(T2, axis=1, factor=4)\n"
            "  T3 = rfactor(T2, axes=[1])\n  reorder(T3, order=[0, 2, 1])\n  inline_at(T3, position=2)\n"
            "  inline_at(T1, position=3)\n");
}

TEST(ScheduleRfactor, IllegalUsesAreRefused) {
  EXPECT_EQ(refusalOf(kRows, "split(T1, axis=1, factor=4) T2 = rfactor(T1, axes=[0])"),
            "rfactor: axis 0 (iSerial{i0}) of T1 is no reduction axis; name reduction axes");
  EXPECT_EQ(refusalOf(kRows, "T2 = rfactor(T1, axes=[1])"),
            "rfactor: 1 of the 1 reduction axes of T1: f32[i0] are named; name one at least and leave one at least");
  EXPECT_THAT(refusalOf(kRows, "split(T1, axis=1, factor=4) T2 = rfactor(T1, axes=[])"),
              HasSubstr("0 of the 2 reduction"));
  EXPECT_THAT(refusalOf(kRows, "split(T1, axis=1, factor=4) T2 = rfactor(T1, axes=[1, -2])"),
              HasSubstr("rfactor: axis -2 of T1: f32[i0] is named twice"));
  EXPECT_THAT(refusalOf(kRows, "T2 = rfactor(T1, axes=[2])"), HasSubstr("rfactor: axis 2 is out of bounds for T1"));
  EXPECT_EQ(refusalOf(kRows, "T2 = rfactor(T0, axes=[0])"), "rfactor: T0: f32[i0, i2] is no result of a reduction");
  EXPECT_THAT(refusalOf(kRows, "split(T1, axis=1, factor=4) T2 = rfactor(T1, axes=[1]) T3 = rfactor(T2, axes=[1])"),
              HasSubstr("comes from an rfactor itself; use the tensor that it was made from"));
  EXPECT_THAT(refusalOf(kRows, "split(T1, axis=1, factor=4) set_allocation_as_loop(T1) T2 = rfactor(T1, axes=[1])"),
              HasSubstr("has an allocation domain over its loops; set it afterwards"));
  EXPECT_THAT(refusalOf("fusion f(T0: f32[i0, i2]) -> T2 { T1 = sum(T0, axes=[1]) T2 = exp(T1) }\n",
                        "split(T1, axis=1, factor=4) inline_at(T1, position=1) T3 = rfactor(T1, axes=[1])"),
              HasSubstr("rfactor: the first 1 loops of T1: f32[i0] are shared with other tensors; rfactor first"));
  EXPECT_THAT(refusalOf("fusion f(T0: f32[i0, 1, i2]) -> T1 { T1 = sum(T0, axes=[2]) }\n",
                        "merge(T1, axis=1) split(T1, axis=1, factor=4) T2 = rfactor(T1, axes=[1])"),
              HasSubstr("is made by a step from an axis (bSerial{1}) of T1, which is no reduction axis"));
  EXPECT_THAT(errorOf([] {
                fusionFrom(std::string(kRows) + "schedule { split(T1, axis=1, factor=4) rfactor(T1, axes=[1]) }");
              }).message(),
              HasSubstr("rfactor' gives a tensor; expected 'T<n> =' before it"));
}

TEST(ScheduleRfactor, CachesAreMadeBefore) {
  EXPECT_THAT(refusalOf(kRows, "split(T1, axis=1, factor=4) T2 = rfactor(T1, axes=[1]) T3 = cache_after(T2)"),
              HasSubstr("cache_after: T2: f32[i0, 4] comes from an rfactor; make caches before"));
  EXPECT_THAT(refusalOf(kRows, "split(T1, axis=1, factor=4) T2 = rfactor(T1, axes=[1]) T3 = cache_before(T2)"),
              HasSubstr("cache_before: T2: f32[i0, 4] comes from an rfactor; make caches before"));
}

}  // namespace
}  // namespace tokamak
