// Memory, layout, buffers, swizzles and marks.
#include <gmock/gmock.h>

#include "unit/schedule/schedule_case.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

constexpr const char* kCopiedChain = "fusion f(T0: f32[i0, 32]) -> T3 { T1 = set(T0) T2 = neg(T1) T3 = abs(T2) }\n";

TEST(ScheduleMemory, AMemoryTypeIsAMarkOfTheType) {
  EXPECT_THAT(after(kCopiedChain, "set_memory_type(T1, shared) set_memory_type(T2, type=global)"),
              HasSubstr("  T1: f32[i0, 32] as shared = set(T0)\n  T2: f32[i0, 32] as global = neg(T1)\n"));
  EXPECT_THAT(after(kCopiedChain, "set_memory_type(T1, shared) set_memory_type(T1, local)"),
              HasSubstr("  T1: f32[i0, 32] = set(T0)\n"));
  EXPECT_EQ(refusalOf(kCopiedChain, "set_memory_type(T0, shared)"),
            "set_memory_type: T0: f32[i0, 32] is an input of the fusion, which is in global memory; make a cache and "
            "place that");
  EXPECT_THAT(refusalOf(kCopiedChain, "set_memory_type(T3, local)"),
              HasSubstr("T3: f32[i0, 32] is an output of the fusion"));
  EXPECT_EQ(refusalOf(kCopiedChain, "set_memory_type(T1, disk)"),
            "set_memory_type: 'type' of T1: f32[i0, 32] must be one of local, shared, global; got disk");
}

TEST(ScheduleMemory, AnAllocationOverLoopAxesIsACommand) {
  EXPECT_EQ(scheduleAfter(kCopiedChain,
                          "split(T1, axis=1, factor=8) reorder(T1, order=[1, 0, 2]) set_allocation_as_loop(T1)"),
            "  split(T1, axis=1, factor=8)\n  set_allocation(T1, axes=[1, 0, 2])\n  reorder(T1, order=[1, 0, 2])\n");
  EXPECT_EQ(scheduleAfter(kCopiedChain, "split(T1, axis=1, factor=8) set_allocation(T1, axes=[-1, 0, 1])"),
            "  split(T1, axis=1, factor=8)\n  set_allocation(T1, axes=[2, 0, 1])\n");
}

TEST(ScheduleMemory, AnAllocationMayBeOfAxesThatLoopsComeFrom) {
  EXPECT_EQ(scheduleAfter(kCopiedChain,
                          "split(T1, axis=1, factor=8) set_allocation_as_loop(T1) split(T1, axis=0, factor=4) "
                          "merge(T1, axis=1)"),
            "  split(T1, axis=1, factor=8)\n  set_allocation(T1, axes=[0, 1, 2])\n  split(T1, axis=0, factor=4)\n"
            "  merge(T1, axis=1)\n");
}

TEST(ScheduleMemory, APermutationOfTheShapeIsAMark) {
  EXPECT_THAT(after(kCopiedChain, "set_allocation(T1, axes=[1, 0])"),
              HasSubstr("T1: f32[i0, 32] allocation(1, 0) = set(T0)"));
  EXPECT_EQ(after("fusion f(T0: f32[i0, i2]) -> T1 { T1 = sum(T0, axes=[0]) }\n", "set_allocation_as_loop(T1)"),
            "  T1: f32[r{i0}, i2] allocation(0, 1) = sum(T0, axes=[0])\n}\n");
}

TEST(ScheduleMemory, ATensorAfterAnRfactorHasItsAllocationAsACommand) {
  EXPECT_EQ(scheduleAfter("fusion f(T0: f32[i0, i2]) -> T1 { T1 = sum(T0, axes=[1]) }\n",
                          "split(T1, axis=1, factor=4) T2 = rfactor(T1, axes=[1]) set_allocation_as_loop(T1) "
                          "set_allocation(T2, axes=[1, 2, 0])"),
            "  split(T1, axis=1, factor=4)\n  T2 = rfactor(T1, axes=[1])\n  set_allocation(T2, axes=[1, 2, 0])\n"
            "  set_allocation(T1, axes=[0, 1])\n");
}

TEST(ScheduleMemory, AllocationsThatAreNoOrderOfTheLoopsAreRefused) {
  EXPECT_EQ(refusalOf(kCopiedChain, "set_allocation(T1, axes=[0])"),
            "set_allocation: 1 axes for T1: f32[i0, 32] with 2 loop axes; name each once");
  EXPECT_EQ(refusalOf(kCopiedChain, "set_allocation(T1, axes=[0, -2])"),
            "set_allocation: axis -2 of T1: f32[i0, 32] is named twice");
  EXPECT_THAT(refusalOf(kCopiedChain, "set_allocation(T1, axes=[0, 2])"),
              HasSubstr("set_allocation: axis 2 is out of bounds"));
  EXPECT_EQ(refusalOf(kCopiedChain, "set_allocation_as_loop(T0)"),
            "set_allocation_as_loop: T0: f32[i0, 32] is an input of the fusion, which lies as the caller gives it");
}

TEST(ScheduleMemory, AnAllocationOfOtherAxesIsSaidToHaveNoText) {
  const auto fusion = fusionFrom(std::string(kCopiedChain) + "schedule { split(T1, axis=1, factor=8) }");
  TensorDomain& domain = tensorOf(*fusion, 1)->mutableDomain();
  domain.allocation = {domain.loop[1], domain.loop[2]};
  EXPECT_THAT(printFusion(*fusion), HasSubstr("  // the allocation domain of T1 is not made of axes"));
}

TEST(ScheduleMemory, ACircularBufferIsPrinted) {
  EXPECT_EQ(scheduleAfter(kCopiedChain, "circular_buffer(T1, stages=3, prefetch=2)"),
            "  circular_buffer(T1, stages=3, prefetch=2)\n");
  EXPECT_EQ(scheduleAfter(kCopiedChain, "circular_buffer(T1, 2)"), "  circular_buffer(T1, stages=2, prefetch=1)\n");
  const std::string text = kCopiedChain;
  EXPECT_THAT(firstDifference(*fusionFrom(text + "schedule { circular_buffer(T1, 3) }"),
                              *fusionFrom(text + "schedule { circular_buffer(T1, 2) }")),
              HasSubstr("the circular buffers of T1"));
}

TEST(ScheduleMemory, APaddedBufferIsPrinted) {
  EXPECT_EQ(scheduleAfter(kCopiedChain, "pad_buffer(T1, axis=0, elements=1)"),
            "  pad_buffer(T1, axis=0, elements=1)\n");
  EXPECT_EQ(scheduleAfter(kCopiedChain, "pad_buffer(T1, 0, 1) pad_buffer(T1, 0, 0)"), "");
  EXPECT_THAT(refusalOf(kCopiedChain, "pad_buffer(T1, axis=0, elements=-1)"),
              testing::HasSubstr("pad_buffer: -1 elements for T1: f32[i0, 32]; legal are 0 or more"));
  EXPECT_THAT(refusalOf(kCopiedChain, "pad_buffer(T0, axis=0, elements=1)"),
              testing::HasSubstr("is in global memory; make a cache and pad that"));
}

TEST(ScheduleMemory, CircularBuffersAreForCopies) {
  EXPECT_EQ(refusalOf(kCopiedChain, "circular_buffer(T2, stages=2)"),
            "circular_buffer: T2: f32[i0, 32] is not a copy within the fusion; cache_after makes one");
  EXPECT_THAT(refusalOf(kCopiedChain, "T9 = cache_before(T3) circular_buffer(T3, stages=2)"),
              HasSubstr("T3: f32[i0, 32] is not a"));
  for (const char* numbers : {"1, 1", "2, 0", "2, 2", "0, -1"}) {
    EXPECT_THAT(refusalOf(kCopiedChain, std::string("circular_buffer(T1, ") + numbers + ")"),
                HasSubstr("legal are 2 stages or more and a prefetch from 1 to stages - 1"));
  }
}

TEST(ScheduleSwizzle, AStepOfTwoAxesIsPrintedAndRead) {
  EXPECT_EQ(scheduleAfter(kCopiedChain,
                          "split(T1, axis=1, factor=8) reorder(T1, order=[1, 2, 0]) swizzle(T1, 0, 1) split(T1, 1, 2)"),
            "  split(T1, axis=1, factor=8)\n  swizzle(T1, axis_x=1, axis_y=2, type=xor)\n"
            "  split(T1, axis=2, factor=2)\n  reorder(T1, order=[1, 2, 3, 0])\n");
  EXPECT_EQ(scheduleAfter(kCopiedChain, "swizzle(T1, axis_x=1, axis_y=0, type=cyclic_shift)"),
            "  swizzle(T1, axis_x=1, axis_y=0, type=cyclic_shift)\n");
}

TEST(ScheduleSwizzle, FormsDiffer) {
  const std::string text = kCopiedChain;
  EXPECT_NE(firstDifference(*fusionFrom(text + "schedule { split(T1, 0, 8) swizzle(T1, 1, 2) }"),
                            *fusionFrom(text + "schedule { split(T1, 0, 8) swizzle(T1, 1, 2, cyclic_shift) }")),
            "");
}

TEST(ScheduleSwizzle, IllegalUsesAreRefused) {
  EXPECT_EQ(refusalOf(kCopiedChain, "swizzle(T1, axis_x=1, axis_y=-1)"),
            "swizzle: axis 1 of T1: f32[i0, 32] is named twice; name two axes");
  EXPECT_EQ(refusalOf(kCopiedChain, "swizzle(T1, axis_x=0, axis_y=1)"),
            "swizzle: xor of axis 0 (iSerial{i0}) of T1 and axis 1 (iSerial{32}) of T1; legal are constant extents, "
            "that of y a "
            "power of two and that of x no larger");
  EXPECT_THAT(refusalOf(kCopiedChain, "split(T1, 1, 3) swizzle(T1, 2, 1)"), HasSubstr("swizzle: xor of"));
  EXPECT_THAT(refusalOf(kCopiedChain, "split(T1, 1, 4) swizzle(T1, 1, 2)"), HasSubstr("swizzle: xor of"));
  EXPECT_THAT(refusalOf(kCopiedChain, "swizzle(T1, 0, 5, type=cyclic_shift)"),
              HasSubstr("swizzle: axis 5 is out of bounds"));
  EXPECT_THAT(refusalOf(kCopiedChain, "swizzle(T1, 0, 1, type=zigzag)"),
              HasSubstr("swizzle: 'type' of T1: f32[i0, 32] must be one of xor, cyclic_shift; got"));
  EXPECT_EQ(refusalOf("fusion f(T0: f32[8, 8]) -> T1 { T1 = sum(T0, axes=[1]) }\n", "swizzle(T1, 0, 1)"),
            "swizzle: axis 0 (iSerial{8}) of T1 and axis 1 (rSerial{8}) of T1; reduction axes are not swizzled");
  EXPECT_THAT(refusalOf(kCopiedChain, "parallelize(T1, 0, BIDx) swizzle(T1, 0, 1)"),
              HasSubstr("is already marked BIDx"));
}

TEST(ScheduleMarks, RulesAreCheckedWhereTheMarkIsSet) {
  EXPECT_EQ(refusalOf(kCopiedChain, "parallelize(T1, 0, TIDx) parallelize(T1, 1, TIDx)"),
            "parallelize: axis 1 (iSerial{32}) of T1 cannot be marked TIDx, as axis 0 (iTIDx{i0}) of T1 is already; a "
            "dimension is "
            "given to one axis of a tensor");
  EXPECT_EQ(refusalOf(kCopiedChain, "parallelize(T1, 0, Unroll)"),
            "parallelize: axis 0 (iSerial{i0}) of T1 cannot be marked Unroll, which takes a constant extent; split it "
            "by a number "
            "first");
  EXPECT_THAT(refusalOf(kCopiedChain, "reorder(T1, [1, 0]) parallelize(T1, 1, Vectorize)"),
              HasSubstr("cannot be marked Vectorize, which takes a constant extent"));
  EXPECT_EQ(refusalOf(kCopiedChain, "split(T1, 1, 4) reorder(T1, [0, 2, 1]) parallelize(T1, 1, Vectorize)"),
            "parallelize: axis 1 (iSerial{4}) of T1 cannot be marked Vectorize, which is for the innermost axis, 2");
  EXPECT_EQ(refusalOf(kCopiedChain, "parallelize(T2, 0, Bulk)"),
            "parallelize: axis 0 (iSerial{i0}) of T2 cannot be marked Bulk, which is for copies: the result of a set");
  EXPECT_EQ(
      scheduleAfter(kCopiedChain,
                    "parallelize(T1, 0, Bulk) parallelize(T2, 0, Unswitch) split(T2, 1, 4) "
                    "parallelize(T2, 1, Unroll) parallelize(T2, 2, Vectorize)"),
      "  parallelize(T1, axis=0, type=Bulk)\n  split(T2, axis=1, factor=4)\n  parallelize(T2, axis=0, type=Unswitch)\n"
      "  parallelize(T2, axis=1, type=Unroll)\n  parallelize(T2, axis=2, type=Vectorize)\n");
  EXPECT_EQ(refusalOf(kCopiedChain, "parallelize(T1, 1, Vectorize) reorder(T1, [1, 0])"),
            "reorder: axis 1 (iVectorize{32}) of T1 is marked Vectorize, so that it stays the innermost axis; reorder "
            "first, mark "
            "then");
  const auto fusion =
      fusionFrom(std::string(kCopiedChain) + "schedule { split(T1, 1, 4) parallelize(T1, 2, Vectorize) }");
  Axes& loop = tensorOf(*fusion, 1)->mutableDomain().loop;
  std::swap(loop[1], loop[2]);
  EXPECT_EQ(violationsOf(*fusion, Stage::Scheduled).front().message,
            "axis 1 (iVectorize{4}) of T1 is vectorized and not the innermost axis");
}

}  // namespace
}  // namespace tokamak
