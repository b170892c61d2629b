#include <gmock/gmock.h>

#include "unit/schedule/schedule_case.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

constexpr const char* kDiamond = "fusion f(T0: f32[i0, i2]) -> T3 { T1 = exp(T0) T2 = neg(T1) T3 = add(T1, T2) }\n";

TEST(ScheduleCache, ACacheOfAnInputIsReadByAllThatReadTheInput) {
  EXPECT_EQ(after("fusion f(T0: f32[i0]) -> (T1, T2) { T1 = exp(T0) T2 = add(T0, T0) }\n", "T9 = cache_after(T0)"),
            "  T9: f32[i0] = set(T0)\n  T1: f32[i0] = exp(T9)\n  T2: f32[i0] = add(T9, T9)\n}\n");
}

TEST(ScheduleCache, ACacheAfterAnInnerTensorStandsBeforeItsFirstReader) {
  EXPECT_EQ(
      after(kDiamond, "T9 = cache_after(T1, cache_op=AllLevels)"),
      "  T1: f32[i0, i2] = exp(T0)\n  T9: f32[i0, i2] = set(T1, cache_op=AllLevels)\n  T2: f32[i0, i2] = neg(T9)\n"
      "  T3: f32[i0, i2] = add(T9, T2)\n}\n");
}

TEST(ScheduleCache, ACacheBeforeTakesTheOpOver) {
  EXPECT_EQ(after(kDiamond, "T9 = cache_before(T3)"),
            "  T1: f32[i0, i2] = exp(T0)\n  T2: f32[i0, i2] = neg(T1)\n  T9: f32[i0, i2] = add(T1, T2)\n"
            "  T3: f32[i0, i2] = set(T9)\n}\n");
  EXPECT_EQ(after(kDiamond, "T9 = cache_before(T1)"),
            "  T9: f32[i0, i2] = exp(T0)\n  T1: f32[i0, i2] = set(T9)\n  T2: f32[i0, i2] = neg(T1)\n"
            "  T3: f32[i0, i2] = add(T1, T2)\n}\n");
}

TEST(ScheduleCache, ReductionAxesGoWithTheReduction) {
  EXPECT_EQ(
      after("fusion f(T0: f32[i0, i2]) -> T1 { T1: f32[i0, r{i2}] stride_order(0) as global = sum(T0, axes=[1]) }\n",
            "T9 = cache_before(T1)"),
      "  T9: f32[i0, r{i2}] = sum(T0, axes=[1])\n  T1: f32[i0] stride_order(0) as global = set(T9)\n}\n");
}

TEST(ScheduleCache, LayoutsStayWithTheOldTensor) {
  EXPECT_EQ(after("fusion f(T0: f32[i0, i2]) -> T1 { T1: f32[i0, i2] allocation(1, 0) = exp(T0) }\n",
                  "T9 = cache_before(T1)"),
            "  T9: f32[i0, i2] = exp(T0)\n  T1: f32[i0, i2] allocation(1, 0) = set(T9)\n}\n");
}

TEST(ScheduleCache, AForkSeparatesAnOutputFromItsReaders) {
  EXPECT_EQ(after("fusion f(T0: f32[i0]) -> (T1, T2) { T1 = exp(T0) T2 = neg(T1) }\n", "T9 = cache_fork(T1)"),
            "  T9: f32[i0] = exp(T0)\n  T1: f32[i0] = set(T9)\n  T2: f32[i0] = neg(T9)\n}\n");
}

TEST(ScheduleCache, MarksOfDevicesAreKept) {
  EXPECT_EQ(scheduleAfter(kDiamond, "parallelize(T0, axis=0, type=DIDx) T9 = cache_after(T0)"),
            "  parallelize(T0, axis=0, type=DIDx)\n  parallelize(T9, axis=0, type=DIDx)\n");
}

TEST(ScheduleCache, AllCachesOfAScheduledFusionAreOrdinaryTensors) {
  EXPECT_EQ(
      after(kDiamond,
            "T4 = cache_after(T0) T5 = cache_before(T3) set_memory_type(T4, type=shared) split(T5, axis=0, factor=4) "
            "transform_like(T5) inline_most()"),
      "  T4: f32[i0, i2] as shared = set(T0)\n  T1: f32[i0, i2] = exp(T4)\n  T2: f32[i0, i2] = neg(T1)\n"
      "  T5: f32[i0, i2] = add(T1, T2)\n  T3: f32[i0, i2] = set(T5)\n}\nschedule {\n"
      "  split(T4, axis=0, factor=4)\n  split(T1, axis=0, factor=4)\n  split(T2, axis=0, factor=4)\n"
      "  split(T5, axis=0, factor=4)\n  split(T3, axis=0, factor=4)\n  inline_at(T5, position=3)\n"
      "  inline_at(T2, position=3)\n  inline_at(T1, position=3)\n  inline_at(T4, position=3)\n}\n");
}

TEST(ScheduleCache, IllegalUsesAreRefused) {
  const auto refusal = [](const std::string& commands) { return refusalOf(kDiamond, commands); };
  EXPECT_EQ(refusal("T9 = cache_before(T0)"),
            "cache_before: T0: f32[i0, i2] is not computed by the fusion; cache_after is for inputs");
  EXPECT_EQ(refusal("T9 = cache_fork(T0)"),
            "cache_fork: T0: f32[i0, i2] is not computed by the fusion; cache_after is for inputs");
  EXPECT_EQ(refusal("T9 = cache_after(T3)"), "cache_after: nothing reads T3: f32[i0, i2]; cache_before is for outputs");
  EXPECT_EQ(refusal("T9 = cache_fork(T1)"),
            "cache_fork: T1: f32[i0, i2] is no output; cache_after is for such a tensor");
  EXPECT_EQ(refusal("T9 = cache_fork(T3)"),
            "cache_fork: nothing reads T3: f32[i0, i2]; cache_before is for such an output");
  EXPECT_EQ(refusal("split(T3, axis=0, factor=4) T9 = cache_before(T3)"),
            "cache_before: T3: f32[i0, i2] is scheduled already; make caches before");
  EXPECT_EQ(refusal("inline_most() T9 = cache_after(T2)"),
            "cache_after: the first 2 loops of T2: f32[i0, i2] are shared with other tensors; make caches before");
  EXPECT_THAT(refusal("inline_most() T9 = cache_before(T3)"), HasSubstr("cache_before: the first 2 loops of T3"));
  EXPECT_EQ(
      refusal("T9 = cache_after(T0, cache_op=Best)"),
      "cache_after: 'cache_op' of T0: f32[i0, i2] must be one of Unspecified, AllLevels, Streaming, Global; got Best");
  EXPECT_EQ(refusalOf("fusion f(T0: f32[i0]) -> (T1, T2) { T1 = exp(T0) T2 = neg(T1) }\n", "T9 = cache_after(T1)"),
            "cache_after: T1: f32[i0] is an output of the fusion; cache_fork is for outputs that are read inside");
}

}  // namespace
}  // namespace tokamak
