// Stream axes that cannot be honoured are refused, each with its own message that names the tensor and the axis.
#include <algorithm>

#include <gtest/gtest.h>

#include "compile/lower_fusion.h"
#include "device/kernel_target.h"
#include "host/ir/text/host_printer.h"
#include "host_run/program_text.h"
#include "ir/ops/host/for_loop.h"

namespace tokamak {
namespace {

struct Refusal {
  std::string name;
  std::string fusion;
  std::string message;
};

std::ostream& operator<<(std::ostream& out, const Refusal& refusal) { return out << refusal.name; }

const Refusal kRefusals[] = {
    {"part_of_a_reduction_that_is_cut",
     "fusion f(T0: f32[i0, i2]) -> T1 { T1 = sum(T0, axes=[0]) } schedule { split(T1, axis=0, factor=4) T2 = "
     "rfactor(T1, "
     "axes=[0]) parallelize(T2, axis=2, type=Stream) parallelize(T1, axis=1, type=Stream) }",
     "host program: Stream on axis 2 (iStream{i2}) of T2: it belongs to a reduction that rfactor has cut, whose parts "
     "one kernel computes; leave rfactor out, and mark the reduction"},
    {"end_of_a_reduction_that_is_cut",
     "fusion f(T0: f32[i0, i2]) -> T1 { T1 = sum(T0, axes=[0]) } schedule { split(T1, axis=0, factor=1) T2 = "
     "rfactor(T1, "
     "axes=[0]) parallelize(T1, axis=1, type=Stream) }",
     "host program: Stream on axis 1 (iStream{i2}) of T1: it belongs to a reduction that rfactor has cut, whose parts "
     "one kernel computes; leave rfactor out, and mark the reduction"},
    {"input_that_is_summed",
     "fusion f(T0: f32[i0, i2]) -> T1 { T1 = sum(T0, axes=[0]) } schedule { parallelize(T0, axis=0, type=Stream) }",
     "host program: Stream on axis 0 (iStream{i0}) of T0: it is an input, and no stream loop runs along this axis of "
     "it; it is read by sum (T1); mark the output that reads it"},
    {"input_that_is_shifted",
     "fusion f(T0: f32[i0, i2]) -> T1 { T1 = slice(T0, axis=0, start=1) } schedule { parallelize(T0, axis=0, "
     "type=Stream) }",
     "host program: Stream on axis 0 (iStream{i0}) of T0: it is an input, and no stream loop runs along this axis of "
     "it; it is read by slice (T1); mark the output that reads it"},
    {"input_of_several_readers",
     "fusion f(T0: f32[i0, i2]) -> (T1, T3) { T1 = sum(T0, axes=[0]) T3 = exp(pad(T0, widths=[1, 1, 0, 0])) } "
     "schedule { parallelize(T0, axis=0, type=Stream) }",
     "host program: Stream on axis 0 (iStream{i0}) of T0: it is an input, and no stream loop runs along this axis of "
     "it; it is read by sum (T1), pad (T4); mark the output that reads it"},
    {"input_that_nothing_reads",
     "fusion f(T0: f32[i0], T1: f32[i0]) -> T2 { T2 = exp(T1) } schedule { parallelize(T0, axis=0, type=Stream) }",
     "host program: Stream on axis 0 (iStream{i0}) of T0: it is an input, and no stream loop runs along this axis of "
     "it; nothing reads it; mark the output that reads it"},
    {"input_of_another_axis",
     "fusion f(T0: f32[i0, i2]) -> T1 { T1 = set(T0) } schedule { parallelize(T0, axis=1, type=Stream) parallelize(T1, "
     "axis=0, type=Stream) }",
     "host program: Stream on axis 1 (iStream{i2}) of T0: it is an input, and no stream loop runs along this axis of "
     "it; it is read by set (T1); mark the output that reads it"},
    {"two_axes",
     "fusion f(T0: f32[i0, i2]) -> T1 { T1 = set(T0) } schedule { parallelize(T1, axis=0, type=Stream) parallelize(T1, "
     "axis=1, type=Stream) }",
     "host program: Stream on axis 0 (iStream{i0}) of T1 and on axis 1 (iStream{i2}) of T1: a tensor can be streamed "
     "along one axis only"},
    {"inner_part_of_a_split",
     "fusion f(T0: f32[i0, i2]) -> T1 { T1 = set(T0) } schedule { split(T1, axis=0, factor=4) parallelize(T1, axis=1, "
     "type=Stream) }",
     "host program: Stream on axis 1 (iStream{4}) of T1: it is the inner part of a split, whose indices are not "
     "consecutive in the tensor; mark the outer part"},
    {"part_of_a_merged_axis",
     "fusion f(T0: f32[i0, i2]) -> T1 { T1 = set(T0) } "
     "schedule { merge(T1, axis=0) split(T1, axis=0, factor=4) parallelize(T1, axis=0, type=Stream) }",
     "host program: Stream on axis 0 (iStream{( ceilDiv(( i0 * i2 ), 4) )}) of T1: parts of a merged axis are not a "
     "view of the buffer; mark the merged axis itself"},
    {"merged_axes_merged_again",
     "fusion f(T0: f32[i0, i2, i4]) -> T1 { T1 = set(T0) } "
     "schedule { merge(T1, axis=0) merge(T1, axis=0) parallelize(T1, axis=0, type=Stream) }",
     "host program: Stream on axis 0 (iStream{( ( i0 * i2 ) * i4 )}) of T1: it merges axes that are split or merged "
     "themselves; two axes of the tensor may be merged"},
    {"swizzled_axis",
     "fusion f(T0: f32[i0, i2]) -> T1 { T1 = set(T0) } "
     "schedule { swizzle(T1, axis_x=0, axis_y=1, type=cyclic_shift) parallelize(T1, axis=0, type=Stream) }",
     "host program: Stream on axis 0 (iStream{i0}) of T1: parts of a swizzled axis are not a view of the buffer; mark "
     "an "
     "axis that is not swizzled"},
    {"merged_with_a_reduction_axis",
     "fusion f(T0: f32[i0, i2]) -> T1 { T1 = sum(T0, axes=[1]) } schedule { merge(T1, axis=0) parallelize(T1, axis=0, "
     "type=Stream) }",
     "schedule: merge: axis 0 (iSerial{i0}) of T1 and axis 1 (rSerial{i2}) of T1: one is a reduction axis, the other "
     "is not; reorder to bring axes of one kind together"},
};

class StreamRefusals : public testing::TestWithParam<Refusal> {};

// Ways to lower a fusion: which ops become one segment must not change what a mark means.
std::vector<HostLoweringOptions> groupings() {
  return {{.grouping = Grouping::Single},
          {.grouping = Grouping::Single, .stream_sync = StreamSync::InLoop},
          {.grouping = Grouping::Segments},
          {.grouping = Grouping::Fused},
          {.grouping = Grouping::Fused, .target = hopperTarget()}};
}

TEST_P(StreamRefusals, SayWhyInEveryGrouping) {
  for (const HostLoweringOptions& options : groupings()) {
    SCOPED_TRACE(static_cast<int>(options.grouping));
    EXPECT_EQ(refusalOf([&] { lowerToHostProgram(*fusionOf(GetParam().fusion), options); }), GetParam().message);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, StreamRefusals, testing::ValuesIn(kRefusals),
                         [](const auto& instance) { return instance.param.name; });

TEST(StreamRefusals, AlsoMeetProgramsWrittenByHand) {
  const HostText input{
      {"T0_g_float[iStreamIdx0{i0}]", "T1_g_float[iS1{i0}]"}, "(@T0) -> (@T1)", "  @T1 = Set( @T0 )\n"};
  EXPECT_EQ(refusalOf([&] { finishedProgramOf(input); }),
            "host program: Stream on axis 0 (iStream{i0}) of T0: it is an input, and no stream loop runs along this "
            "axis of it; it is read by set (T1); mark the output that reads it");
}

// Iterations compute terms of the reduction, which the caller's stream adds up (values: StreamForms).
TEST(StreamMarks, OnReducedAxesGiveALoopOfTerms) {
  for (const char* program :
       {"fusion f(T0: f32[m, k], T1: f32[k, n]) -> T2 { T2 = matmul(T0, T1) } "
        "schedule { parallelize(T2, axis=2, type=Stream) }",
        "fusion f(T0: f32[i0, i2]) -> T1 { T1 = sum(T0, axes=[1]) } schedule { parallelize(T1, axis=1, type=Stream) }",
        "fusion f(T0: f32[i0, i2]) -> T1 { T1 = sum(T0, axes=[1]) } "
        "schedule { split(T1, axis=1, factor=4) parallelize(T1, axis=1, type=Stream) }"}) {
    for (const HostLoweringOptions& options : groupings()) {
      const auto lowered = lowerToHostProgram(*fusionOf(program), options);
      const auto isLoop = [](const Expr* expr) { return expr->is<ForLoop>(); };
      EXPECT_TRUE(std::ranges::any_of(lowered->topLevel().exprs, isLoop)) << printHostProgram(*lowered);
    }
  }
}

// Elements that lie apart in the operand are no part of it: such an op gives no loop.
TEST(StreamMarks, OfReshapesWhosePartsLieApartGiveTheWholeOp) {
  for (const char* program : {"fusion f(T0: f32[i0, 6]) -> T1 { T1 = reshape(T0, shape=[i0, 2, 3]) } "
                              "schedule { parallelize(T1, axis=2, type=Stream) }",
                              "fusion f(T0: f32[a, b]) -> T1 { T1 = reshape(T0, shape=[a * b]) } "
                              "schedule { split(T1, axis=0, factor=2) parallelize(T1, axis=0, type=Stream) }",
                              "fusion f(T0: f32[a, b]) -> T1 { T1 = reshape(T0, shape=[b, a]) } "
                              "schedule { parallelize(T1, axis=0, type=Stream) }"}) {
    for (const HostLoweringOptions& options : groupings()) {
      const auto lowered = lowerToHostProgram(*fusionOf(program), options);
      const auto isLoop = [](const Expr* expr) { return expr->is<ForLoop>(); };
      EXPECT_TRUE(std::ranges::none_of(lowered->topLevel().exprs, isLoop)) << printHostProgram(*lowered);
    }
  }
}

// A mark on an input goes to all that can be dealt out along it, and to nothing else.
TEST(StreamMarks, OnAnInputGoToAllThatReadIt) {
  const auto loopsOf = [](const std::string& second, const HostLoweringOptions& options) {
    const auto lowered =
        lowerToHostProgram(*fusionOf("fusion f(T0: f32[a, b]) -> (T1, T3) { T1 = exp(T0) T3 = " + second +
                                     " } schedule { parallelize(T0, axis=0, type=Stream) }"),
                           options);
    return std::ranges::count_if(lowered->topLevel().exprs, [](const Expr* expr) { return expr->is<ForLoop>(); });
  };
  const HostLoweringOptions options{.grouping = Grouping::Single, .stream_sync = StreamSync::InLoop};
  EXPECT_EQ(loopsOf("sum(T0, axes=[1])", options), 1) << "both in one loop";
  EXPECT_EQ(loopsOf("sum(T0, axes=[0])", options), 1) << "the sum is whole";
  EXPECT_EQ(loopsOf("permute(sum(T0, axes=[1], keepdim=true), order=[1, 0])", options), 1) << "and what reads on";
}

// The reader's mark is on a tensor inside a kernel: the cat is computed whole all the same.
TEST(StreamMarks, OfOpsComputedWholeMeanTheSameInEveryGrouping) {
  for (const HostLoweringOptions& options : groupings()) {
    const auto fusion = fusionOf(
        "fusion f(T0: f32[2, 7, 2], T1: f32[2, 7, 2]) -> T9, T22 { T9 = cat([T0, T1], axis=1) "
        "T21 = mul(T9, max(T9, axes=[0], keepdim=true)) T22 = permute(T21, order=[1, 2, 0]) } "
        "schedule { parallelize(T21, axis=1, type=Stream) propagate(T21) }");
    EXPECT_NO_THROW(lowerToHostProgram(*fusion, options));
  }
}

}  // namespace
}  // namespace tokamak
