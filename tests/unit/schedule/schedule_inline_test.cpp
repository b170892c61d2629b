#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "unit/schedule/schedule_case.h"

#include "schedule/shared_loops.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

constexpr const char* kChain = "fusion f(T0: f32[i0, i2]) -> T3 { T1 = exp(T0) T2 = neg(T1) T3 = abs(T2) }\n";
constexpr const char* kSoftmax =
    "fusion f(T0: f32[i0, i2]) -> T7 {\n"
    "  T1 = max(T0, axes=[1])\n  T2 = broadcast(T1, flags=[false, true])\n  T3 = sub(T0, T2)\n  T4 = exp(T3)\n"
    "  T5 = sum(T4, axes=[1])\n  T6 = broadcast(T5, flags=[false, true])\n  T7 = div(T4, T6)\n}\n";

// Those that something reads.
std::vector<TensorView*> innerTensorsOf(const Fusion& fusion) {
  std::vector<TensorView*> tensors;
  for (TensorView* tensor : fusion.allTensors())
    if (tensor->definition() != nullptr && !tensor->uses().empty()) tensors.push_back(tensor);
  return tensors;
}

TEST(ScheduleInline, APositionIsPrintedAfterTheLoops) {
  EXPECT_EQ(scheduleAfter(kChain, "inline_at(T2, position=1) inline_at(T1, position=1)"),
            "  inline_at(T2, position=1)\n  inline_at(T1, position=1)\n");
  EXPECT_EQ(scheduleAfter(kChain, "merge(T3, axis=0) merge(T2, axis=0) inline_at(T2, position=-1)"),
            "  merge(T2, axis=0)\n  merge(T3, axis=0)\n  inline_at(T2, position=1)\n");
}

TEST(ScheduleInline, MostIsAllLoopsOfAPointwiseChain) {
  EXPECT_EQ(scheduleAfter(kChain, "inline_most()"), "  inline_at(T2, position=2)\n  inline_at(T1, position=2)\n");
  EXPECT_EQ(scheduleAfter(kChain, "inline_most([T2])"), "  inline_at(T2, position=2)\n");
  EXPECT_EQ(scheduleAfter(kChain, "inline_most(T2)"), "  inline_at(T2, position=2)\n");
}

TEST(ScheduleInline, AValueThatIsReadAgainAfterAReductionOfItStaysOutOfTheReductionLoop) {
  // T3 and T4 wait for the maximum, T7 for the sum of T4; so only what leads to one of them alone is inlined whole.
  EXPECT_EQ(scheduleAfter(kSoftmax, "inline_most()"),
            "  inline_at(T6, position=2)\n  inline_at(T5, position=1)\n  inline_at(T4, position=1)\n"
            "  inline_at(T3, position=2)\n  inline_at(T2, position=2)\n  inline_at(T1, position=1)\n");
}

TEST(ScheduleInline, AProducerGoesIntoTheReductionLoopOfItsConsumer) {
  EXPECT_EQ(scheduleAfter("fusion f(T0: f32[i0, i2]) -> T2 { T1 = exp(T0) T2 = sum(T1, axes=[1]) }\n",
                          "split(T2, axis=1, factor=4) split(T1, axis=1, factor=4) inline_most()"),
            "  split(T1, axis=1, factor=4)\n  split(T2, axis=1, factor=4)\n  inline_at(T1, position=3)\n");
}

TEST(ScheduleInline, ABroadcastAxisGoesAlongWithTheAxisItIsShownAlong) {
  EXPECT_EQ(scheduleAfter("fusion f(T0: f32[i2], T1: f32[i0, i2]) -> T3 {\n"
                          "  T2 = broadcast(T0, flags=[true, false]) T3 = add(T1, T2) }\n",
                          "merge(T3, axis=0) merge(T2, axis=0) inline_most()"),
            "  merge(T2, axis=0)\n  merge(T3, axis=0)\n  inline_at(T2, position=1)\n");
}

TEST(ScheduleInline, ATensorGoesAlongWithAMergeOfItsAxisAndANewBroadcastAxis) {
  EXPECT_EQ(scheduleAfter("fusion f(T0: f32[i2], T1: f32[i0, i2]) -> T4 {\n"
                          "  T2 = exp(T0) T3 = broadcast(T2, flags=[true, false]) T4 = add(T1, T3) }\n",
                          "merge(T4, axis=0) merge(T3, axis=0) split(T4, axis=0, factor=8) split(T3, axis=0, factor=8) "
                          "split(T2, axis=0, factor=8) inline_most()"),
            "  split(T2, axis=0, factor=8)\n  merge(T3, axis=0)\n  split(T3, axis=0, factor=8)\n  merge(T4, axis=0)\n"
            "  split(T4, axis=0, factor=8)\n  inline_at(T3, position=2)\n  inline_at(T2, position=2)\n");
}

TEST(ScheduleInline, VectorizedLoopsAreNotShared) {
  EXPECT_EQ(scheduleAfter("fusion f(T0: f32[i0, 8]) -> T2 { T1 = exp(T0) T2 = neg(T1) }\n",
                          "parallelize(T2, axis=1, type=Vectorize) inline_most()"),
            "  parallelize(T2, axis=1, type=Vectorize)\n  inline_at(T1, position=1)\n");
}

TEST(ScheduleInline, RefusalsSayTheLargestPositionAndWhatLimitsIt) {
  const auto refusal = [](const std::string& commands) { return refusalOf(kSoftmax, commands); };
  EXPECT_EQ(refusal("inline_at(T3, position=3)"),
            "inline_at: position 3 is out of bounds for T3: f32[i0, i2] with 2 loop axes; legal are -3 to 2");
  EXPECT_EQ(refusal("inline_at(T5, position=2)"),
            "inline_at: position 2 for T5: f32[i0]; the largest legal one is 1: axis 1 (rSerial{i2}) of T5 is a "
            "reduction axis: it "
            "must be complete before the tensor is read");
  EXPECT_EQ(refusal("inline_at(T0, position=1)"),
            "inline_at: position 1 for T0: f32[i0, i2]; the largest legal one is 0: it is an input of the fusion");
  EXPECT_EQ(refusal("inline_at(T7, position=1)"),
            "inline_at: position 1 for T7: f32[i0, i2]; the largest legal one is 0: nothing in the fusion reads it");
  EXPECT_EQ(
      refusal("split(T4, axis=0, factor=4) inline_at(T3, position=1)"),
      "inline_at: position 1 for T3: f32[i0, i2]; the largest legal one is 0: axis 0 (iSerial{i0}) of T3 and axis 0 "
      "(iSerial{( ceilDiv(i0, 4) )}) of T4 do not go along");
  EXPECT_EQ(
      refusal("merge(T4, axis=0) inline_at(T3, position=2)"),
      "inline_at: position 2 for T3: f32[i0, i2]; the largest legal one is 0: axis 0 (iSerial{i0}) of T3 and axis 0 "
      "(iSerial{( i0 * i2 )}) of T4 do not go along");
  EXPECT_EQ(
      refusal("parallelize(T4, axis=0, type=BIDx) parallelize(T3, axis=0, type=TIDx) inline_at(T3, position=1)"),
      "inline_at: position 1 for T3: f32[i0, i2]; the largest legal one is 0: axis 0 (iTIDx{i0}) of T3 and axis 0 "
      "(iBIDx{i0}) of T4 are one loop and would be run in different ways, one of them as TIDx");
  EXPECT_EQ(refusal("inline_at(T6, position=2) inline_at(T5, position=1) inline_at(T4, position=2)"),
            "inline_at: position 2 for T4: f32[i0, i2]; the largest legal one is 1: T6 reads T5 within a loop that "
            "both are in, and T5 is not inlined there");
  EXPECT_EQ(refusal("inline_at(T4, position=1)"),
            "inline_at: position 1 for T4: f32[i0, i2]; the largest legal one is 0: T7 would be in one loop with a "
            "tensor that "
            "it depends on by way of T6, which is not in it");
}

TEST(ScheduleInline, SeveralTensorsAreInlinedReadersFirstAllOrNone) {
  const auto fusion = fusionFrom(kSoftmax);
  const std::string before = checkedText(*fusion);
  const std::vector<TensorView*> tensors = innerTensorsOf(*fusion);
  const Error refusal = errorOf([&] { inline_at(tensors, 2, InlineEffort::All); });
  EXPECT_THAT(refusal.message(), HasSubstr("largest legal one is 1"));
  EXPECT_EQ(checkedText(*fusion), before);
  inline_at(tensors, 2, InlineEffort::Best);
  EXPECT_EQ(checkedText(*fusion), checkedText(*fusionFrom(std::string(kSoftmax) + "schedule { inline_most() }\n")));
  EXPECT_EQ(errorOf([&] { inline_at(tensors, -1, InlineEffort::Best); }).message(),
            "inline_at: position -1 for several tensors; legal are 0 and more");
}

TEST(ScheduleInline, OneLoopAxisLessLimitsToo) {
  EXPECT_THAT(refusalOf("fusion f(T0: f32[i0, i2]) -> T2 { T1 = exp(T0) T2 = select(T1, index=1, axis=1) }\n",
                        "inline_at(T1, position=2)"),
              HasSubstr("the largest legal one is 1: T2: f32[i0] reads it and has 1 loop axes"));
  EXPECT_THAT(refusalOf("fusion f(T0: f32[8]) -> T2 { T1 = exp(T0) T2 = neg(T1) }\n",
                        "parallelize(T1, axis=0, type=Vectorize) inline_at(T1, position=1)"),
              HasSubstr("axis 0 (iVectorize{8}) of T1 is marked Vectorize, and such a loop is not shared"));
}

TEST(ScheduleInline, ATensorThatOthersNeedInTheLoopDoesNotLeaveIt) {
  const char* diamond = "fusion f(T0: f32[i0]) -> T3 { T1 = exp(T0) T2 = neg(T1) T3 = add(T1, T2) }\n";
  EXPECT_THAT(refusalOf(diamond, "inline_at(T1, position=1)"),
              HasSubstr("T3 reads T2 within a loop that both are in, and T2 is not inlined there"));
  EXPECT_THAT(refusalOf(diamond, "inline_most() inline_at(T2, position=0)"),
              HasSubstr("inline_at: position 0 for T2: f32[i0], which is inlined at 1: T3 reads T2 within"));
  EXPECT_EQ(scheduleAfter(diamond, "inline_most() inline_at(T1, position=0)"), "  inline_at(T2, position=1)\n");
}

TEST(ScheduleInline, SharedLoopsAreNotChanged) {
  const auto refusal = [](const std::string& command) {
    return refusalOf(kChain, "inline_at(T2, position=1) " + command);
  };
  EXPECT_EQ(refusal("split(T2, axis=0, factor=4)"),
            "split: axis 0 (iSerial{i0}) of T2 is a loop that other tensors share, as are the first 1 of T2: f32[i0, "
            "i2]; split "
            "first, inline then");
  EXPECT_THAT(refusal("merge(T3, axis=0)"),
              HasSubstr("merge: axis 0 (iSerial{i0}) of T3 is a loop that other tensors share"));
  EXPECT_THAT(refusal("reorder(T3, order=[1, 0])"),
              HasSubstr("reorder: axis 0 (iSerial{i0}) of T3 is a loop that other"));
  EXPECT_THAT(refusal("swizzle(T3, axis_x=0, axis_y=1, type=cyclic_shift)"),
              HasSubstr("swizzle: axis 0 (iSerial{i0})"));
  EXPECT_THAT(refusal("parallelize(T3, axis=0, type=Group)"),
              HasSubstr("of T3 cannot be marked Group, as other tensors share this loop; mark first, inline then"));
  EXPECT_EQ(scheduleAfter(kChain, "inline_at(T2, position=1) split(T2, axis=1, factor=4) reorder(T2, order=[0, 2, 1])"),
            "  split(T2, axis=1, factor=4)\n  reorder(T2, order=[0, 2, 1])\n  inline_at(T2, position=1)\n");
}

TEST(ScheduleInline, AMarkOfASharedLoopIsThatOfAllThatShareIt) {
  EXPECT_EQ(refusalOf(kChain, "inline_most() parallelize(T1, 0, BIDx) parallelize(T3, 0, TIDx)"),
            "parallelize: axis 0 (iSerial{i0}) of T3 cannot be marked TIDx, as axis 0 (iSerial{i0}) of T3 and axis 0 "
            "(iBIDx{i0}) of T1 are one loop and would be run in different ways, one of them as TIDx");
  EXPECT_THAT(
      refusalOf(kChain, "parallelize(T1, 0, BIDx) parallelize(T3, 0, TIDx) inline_at(T2, 1) inline_at(T1, 1)"),
      HasSubstr("inline_at: position 1 for T1: f32[i0, i2]; the largest legal one is 0: axis 0 (iBIDx{i0}) of T1"));
  EXPECT_EQ(scheduleAfter(kChain, "inline_most() parallelize(T1, 0, BIDx) parallelize(T3, 0, BIDx)"),
            "  parallelize(T1, axis=0, type=BIDx)\n  parallelize(T3, axis=0, type=BIDx)\n  inline_at(T2, position=2)\n"
            "  inline_at(T1, position=2)\n");
}

TEST(ScheduleInline, PropagationLeavesSharedLoopsAlone) {
  const std::string inlined = "inline_at(T1, position=1) ";
  EXPECT_EQ(scheduleAfter(kChain, inlined + "split(T3, axis=0, factor=4) propagate(T3)"),
            "  split(T3, axis=0, factor=4)\n  inline_at(T1, position=1)\n");
  EXPECT_EQ(scheduleAfter(kChain, inlined + "reorder(T3, order=[1, 0]) transform_like(T3)"),
            "  reorder(T3, order=[1, 0])\n  inline_at(T1, position=1)\n");
}

TEST(ScheduleInline, PositionsThatAnotherChangeMadeIllegalAreFound) {
  const auto fusion = fusionFrom(std::string(kChain) + "schedule { inline_most() }");
  EXPECT_EQ(inlineProblem(*fusion, DomainGraph(*fusion)), "");
  TensorView* last = tensorOf(*fusion, 3);
  std::swap(last->mutableDomain().loop[0], last->mutableDomain().loop[1]);
  EXPECT_EQ(inlineProblem(*fusion, DomainGraph(*fusion)),
            "T2: f32[i0, i2] is inlined at 2; the largest legal position is 0: axis 0 (iSerial{i0}) of T2 and axis 0 "
            "(iSerial{i2}) of T3 do not go along");
  tensorOf(*fusion, 0)->mutableDomain().inline_position = 1;
  EXPECT_EQ(violationsOf(*fusion, Stage::Scheduled).front().invariant, "inline-positions");
}

TEST(ScheduleInline, ALongChainWithReuseIsInlinedInTime) {
  std::string text = "fusion f(T0: f32[i0, i2]) -> T1001 {\n  T1 = exp(T0)\n";
  for (int i = 2; i <= 1001; ++i)
    text +=
        "  T" + std::to_string(i) + " = add(T" + std::to_string(i - 1) + ", T" + std::to_string((i + 1) / 2) + ")\n";
  const auto fusion = fusionFrom(text + "}\nschedule { inline_most() }");
  EXPECT_EQ(tensorOf(*fusion, 1)->inlinePosition(), 2);
}

}  // namespace
}  // namespace tokamak
