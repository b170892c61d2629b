#include <gmock/gmock.h>

#include "loop_text.h"
#include "unit/schedule/schedule_case.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

constexpr const char* kRowChain = "fusion f(T0: f32[i0, 32]) -> T3 { T1 = exp(T0) T2 = neg(T1) T3 = abs(T2) }\n";
constexpr const char* kBias =
    "fusion f(T0: f32[i2], T1: f32[i0, i2]) -> T5 {\n"
    "  T2 = exp(T0) T3 = broadcast(T2, flags=[true, false]) T4 = add(T1, T3) T5 = neg(T4) }\n";

/// The loop nests of tensors after the commands.
std::vector<std::string> loopsAfter(const std::string& definition, const std::string& commands,
                                    const std::vector<int64_t>& labels) {
  const auto fusion = fusionFrom(definition + "schedule { " + commands + " }");
  checkedText(*fusion);
  std::vector<std::string> loops;
  for (const int64_t label : labels) loops.push_back(loopText(*tensorOf(*fusion, label)));
  return loops;
}

using Loops = std::vector<std::string>;

TEST(ScheduleTransformLike, ItReachesProducersAndConsumers) {
  EXPECT_EQ(loopsAfter(kRowChain, "merge(T2, 0) split(T2, 0, 8) reorder(T2, [1, 0]) transform_like(T2)", {0, 1, 2, 3}),
            (Loops{"iS{i0}, iS{32}", "iS{8}, iS{( i0 * 4 )}", "iS{8}, iS{( i0 * 4 )}", "iS{8}, iS{( i0 * 4 )}"}));
}

TEST(ScheduleTransformLike, MarksStay) {
  EXPECT_EQ(loopsAfter(kRowChain, "split(T2, 0, 8) parallelize(T2, 0, BIDx) transform_like(T2)", {1}),
            (Loops{"iS{( ceilDiv(i0, 8) )}, iS{8}, iS{32}"}));
}

TEST(ScheduleTransformLike, ItEndsAtTheBoundaryWhichTakesPart) {
  const std::string split = "iS{( ceilDiv(i0, 8) )}, iS{8}, iS{32}";
  EXPECT_EQ(loopsAfter(kRowChain, "split(T1, 0, 8) transform_like(T1, [T2])", {2, 3}),
            (Loops{split, "iS{i0}, iS{32}"}));
  EXPECT_EQ(loopsAfter(kRowChain, "split(T1, 0, 8) transform_like(T1, boundary=T2)", {2, 3}),
            (Loops{split, "iS{i0}, iS{32}"}));
}

TEST(ScheduleTransformLike, ItReachesTheTensorsThatAreNamedThroughThemAlone) {
  const std::string split = "iS{( ceilDiv(i0, 8) )}, iS{8}, iS{32}";
  const std::string whole = "iS{i0}, iS{32}";
  EXPECT_EQ(loopsAfter(kRowChain, "split(T1, 0, 8) transform_like(T1, tensors=[T2])", {2, 3}), (Loops{split, whole}));
  EXPECT_EQ(loopsAfter(kRowChain, "split(T1, 0, 8) transform_like(T1, tensors=[T3])", {2, 3}), (Loops{whole, whole}));
  EXPECT_EQ(loopsAfter(kRowChain, "split(T1, 0, 8) transform_like(T1, tensors=[T3, T2])", {2, 3}),
            (Loops{split, split}));
}

TEST(ScheduleTransformLike, BroadcastAxesTakePartAndAbsentOnesAreLookedThrough) {
  EXPECT_EQ(loopsAfter(kBias, "merge(T5, 0) split(T5, 0, 8) transform_like(T5) inline_most()", {2, 3, 4}),
            (Loops{"iS{( ceilDiv(i2, 8) )}, iS{8}", "iS{( ceilDiv(i2, 8) )}, iS{8}",
                   "iS{( ceilDiv(( i2 * i0 ), 8) )}, iS{8}"}));
}

TEST(ScheduleTransformLike, TheWayThatKeepsMoreAxesIsTaken) {
  // T5 is next to T2, which keeps the rows alone, and to T1, which keeps all.
  const char* text =
      "fusion f(T0: f32[i0, i2]) -> T4 {\n  T1 = exp(T0) T2 = sum(T1, axes=[1]) T3 = broadcast(T2, "
      "flags=[false, true])\n"
      "  T4 = div(T1, T3) }\n";
  EXPECT_EQ(loopsAfter(text, "split(T2, 0, 2) split(T2, 2, 4) transform_like(T2)", {1, 3, 4}),
            (Loops{"iS{( ceilDiv(i0, 2) )}, iS{2}, iS{( ceilDiv(i2, 4) )}, iS{4}",
                   "iS{( ceilDiv(i0, 2) )}, iS{2}, bS{1}, bS{1}",
                   "iS{( ceilDiv(i0, 2) )}, iS{2}, iS{( ceilDiv(i2, 4) )}, iS{4}"}));
}

TEST(ScheduleTransformLike, AxesWithoutACounterpartComeLast) {
  const char* text = "fusion f(T0: f32[i2, i0]) -> T3 { T1 = exp(T0) T2 = sum(T1, axes=[0]) T3 = neg(T2) }\n";
  EXPECT_EQ(loopsAfter(text, "split(T3, 0, 4) transform_like(T3)", {2, 1}),
            (Loops{"iS{( ceilDiv(i0, 4) )}, iS{4}, rS{i2}", "iS{( ceilDiv(i0, 4) )}, iS{4}, iS{i2}"}));
}

TEST(ScheduleTransformLike, ReadersOfOneInputAreConnected) {
  EXPECT_EQ(loopsAfter("fusion f(T0: f32[i0, 32]) -> (T1, T2) { T1 = exp(T0) T2 = neg(T0) }\n",
                       "merge(T1, 0) split(T1, 0, 8) transform_like(T1)", {2}),
            (Loops{"iS{( i0 * 4 )}, iS{8}"}));
}

TEST(ScheduleTransformLike, SwizzlesAreReplayed) {
  EXPECT_EQ(scheduleAfter(kRowChain, "split(T3, 1, 8) swizzle(T3, 1, 2) transform_like(T3, [T2])"),
            "  split(T2, axis=1, factor=8)\n  swizzle(T2, axis_x=1, axis_y=2, type=xor)\n"
            "  split(T3, axis=1, factor=8)\n  swizzle(T3, axis_x=1, axis_y=2, type=xor)\n");
}

TEST(ScheduleTransformLike, WhatIsScheduledInAnotherWayStays) {
  EXPECT_EQ(loopsAfter(kRowChain, "split(T2, 0, 4) split(T3, 0, 8) transform_like(T3)", {2, 1}),
            (Loops{"iS{32}, iS{( ceilDiv(i0, 4) )}, iS{4}", "iS{32}, iS{( ceilDiv(i0, 4) )}, iS{4}"}));
  EXPECT_EQ(loopsAfter(kRowChain, "split(T2, 0, 8) split(T3, 0, 8) split(T3, 2, 4) transform_like(T3)", {2}),
            (Loops{"iS{( ceilDiv(i0, 8) )}, iS{8}, iS{8}, iS{4}"}));
}

TEST(ScheduleTransformLike, DoneTwiceItChangesNothing) {
  const std::string once = "merge(T5, 0) split(T5, 0, 8) transform_like(T5) ";
  EXPECT_EQ(scheduleAfter(kBias, once), scheduleAfter(kBias, once + "transform_like(T5) transform_like(T2)"));
}

TEST(ScheduleParallelizeLike, TypesReachAllAxesThatGoAlong) {
  EXPECT_EQ(
      loopsAfter(kBias,
                 "merge(T5, 0) split(T5, 0, 8) transform_like(T5) parallelize(T5, 0, BIDx) parallelize(T5, 1, TIDx) "
                 "parallelize_like(T5) inline_most()",
                 {0, 2, 3}),
      (Loops{"iS{i2}", "iBIDx{( ceilDiv(i2, 8) )}, iTIDx{8}", "iBIDx{( ceilDiv(i2, 8) )}, iTIDx{8}"}));
}

TEST(ScheduleParallelizeLike, TensorsAndTypesMayBeChosen) {
  const std::string mark = "parallelize(T3, 0, BIDx) parallelize(T3, 1, TIDx) ";
  EXPECT_EQ(loopsAfter(kRowChain, mark + "parallelize_like(T3, [T1])", {1, 2}),
            (Loops{"iBIDx{i0}, iTIDx{32}", "iS{i0}, iS{32}"}));
  EXPECT_EQ(loopsAfter(kRowChain, mark + "parallelize_like(T3, types=BIDx)", {1, 2}),
            (Loops{"iBIDx{i0}, iS{32}", "iBIDx{i0}, iS{32}"}));
  EXPECT_EQ(loopsAfter(kRowChain, mark + "parallelize_like(T3, T2, \"TIDx, BIDx\")", {1, 2}),
            (Loops{"iS{i0}, iS{32}", "iBIDx{i0}, iTIDx{32}"}));
  EXPECT_EQ(
      loopsAfter(kRowChain, mark + "parallelize_like(T3) parallelize(T3, 1, Serial) parallelize_like(T3, types=Serial)",
                 {1}),
      (Loops{"iBIDx{i0}, iS{32}"}));
}

TEST(ScheduleParallelizeLike, AxesMeetOverSeveralWays) {
  // T3 has its rows from T1 and its columns from T2.
  const char* text =
      "fusion f(T0: f32[i0], T1: f32[i2]) -> (T4, T5, T6) {\n  T2 = exp(T0) T3 = exp(T1) T4 = broadcast(T2, "
      "flags=[false, true])\n"
      "  T5 = broadcast(T3, flags=[true, false]) T6 = add(T4, T5) }\n";
  EXPECT_EQ(loopsAfter(text, "parallelize(T6, 0, BIDx) parallelize(T6, 1, TIDx) parallelize_like(T6)", {2, 3, 4}),
            (Loops{"iBIDx{i0}", "iTIDx{i2}", "iBIDx{i0}, bTIDx{1}"}));
}

TEST(ScheduleParallelizeLike, AnRfactorsTensorsAreOneNeighborhood) {
  const char* text = "fusion f(T0: f32[i0, i2]) -> T3 { T1 = exp(T0) T2 = sum(T1, axes=[1]) T3 = neg(T2) }\n";
  EXPECT_EQ(loopsAfter(text,
                       "split(T2, 1, 4) T9 = rfactor(T2, axes=[1]) transform_like(T9) parallelize(T9, 0, BIDx) "
                       "parallelize(T9, 2, TIDx) parallelize_like(T9) inline_most()",
                       {1, 2, 3}),
            (Loops{"iBIDx{i0}, iS{( ceilDiv(i2, 4) )}, iTIDx{4}", "iBIDx{i0}, rTIDx{4}", "iBIDx{i0}"}));
}

TEST(ScheduleParallelizeLike, WhatCannotBeMarkedIsNamedAndNothingIsMarked) {
  const std::string definition = kRowChain;
  const auto fusion = fusionFrom(definition + "schedule { reorder(T1, [1, 0]) parallelize(T3, 1, Vectorize) }");
  const std::string before = printFusion(*fusion);
  const ScheduleCommand command{.name = "parallelize_like",
                                .arguments = {{{}, static_cast<Val*>(tensorOf(*fusion, 3))}},
                                .result = {},
                                .text = {},
                                .place = {}};
  const Error error = errorOf([&] { scheduleCommands().apply(*fusion, command); });
  EXPECT_EQ(
      error.message(),
      "parallelize_like: axis 0 (iSerial{32}) of T1 cannot be marked Vectorize, which is for the innermost axis, 1");
  EXPECT_EQ(printFusion(*fusion), before);
  EXPECT_THAT(
      refusalOf(kRowChain, "parallelize(T3, 0, BIDx) parallelize_like(T3, types=Blocks)"),
      HasSubstr("parallelize_like: the type of T3: f32[i0, 32] is Blocks, no parallel type; types are Serial, Stream"));
  EXPECT_THAT(refusalOf(kRowChain, "parallelize_like(T3, [1])"), HasSubstr("'tensors' must be a list of tensors"));
}

}  // namespace
}  // namespace tokamak
