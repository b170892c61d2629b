// Stream axes that cannot be honoured are refused, each with its own message that names the tensor and the axis.
#include <gtest/gtest.h>

#include "heuristics/kernel_target.h"
#include "host/lower_fusion.h"
#include "host_run/program_text.h"

namespace tokamak {
namespace {

struct Refusal {
  std::string name;
  std::string fusion;
  std::string message;
};

std::ostream& operator<<(std::ostream& out, const Refusal& refusal) { return out << refusal.name; }

const Refusal kRefusals[] = {
    {"k_of_a_matmul",
     "fusion f(T0: f32[m, k], T1: f32[k, n]) -> T2 { T2 = matmul(T0, T1) } schedule { parallelize(T2, axis=2, "
     "type=Stream) }",
     "host program: Stream on axis 2 (rStream{k}) of T2: it is a reduction axis; its iterations would all write the "
     "same elements"},
    {"reduction_axis",
     "fusion f(T0: f32[i0, i2]) -> T1 { T1 = sum(T0, axes=[1]) } schedule { parallelize(T1, axis=1, type=Stream) }",
     "host program: Stream on axis 1 (rStream{i2}) of T1: it is a reduction axis; its iterations would all write the "
     "same elements"},
    {"part_of_a_reduction_axis",
     "fusion f(T0: f32[i0, i2]) -> T1 { T1 = sum(T0, axes=[1]) } schedule { split(T1, axis=1, factor=4) "
     "parallelize(T1, axis=1, type=Stream) }",
     "host program: Stream on axis 1 (rStream{( ceilDiv(i2, 4) )}) of T1: it is a reduction axis; its iterations would "
     "all write the same elements"},
    {"input_that_is_summed",
     "fusion f(T0: f32[i0, i2]) -> T1 { T1 = sum(T0, axes=[0]) } schedule { parallelize(T0, axis=0, type=Stream) }",
     "host program: Stream on axis 0 (iStream{i0}) of T0: it is an input, and no stream loop runs along this axis of "
     "it; mark the output that reads it"},
    {"input_that_is_shifted",
     "fusion f(T0: f32[i0, i2]) -> T1 { T1 = slice(T0, axis=0, start=1) } schedule { parallelize(T0, axis=0, "
     "type=Stream) }",
     "host program: Stream on axis 0 (iStream{i0}) of T0: it is an input, and no stream loop runs along this axis of "
     "it; mark the output that reads it"},
    {"input_of_another_axis",
     "fusion f(T0: f32[i0, i2]) -> T1 { T1 = set(T0) } schedule { parallelize(T0, axis=1, type=Stream) parallelize(T1, "
     "axis=0, type=Stream) }",
     "host program: Stream on axis 1 (iStream{i2}) of T0: it is an input, and no stream loop runs along this axis of "
     "it; mark the output that reads it"},
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
    {"cat",
     "fusion f(T0: f32[i0, i2], T1: f32[i3, i2]) -> T2 { T2 = cat([T0, T1], axis=0) } schedule { parallelize(T2, "
     "axis=0, type=Stream) }",
     "host program: Stream on axis 0 (iStream{( i0 + i3 )}) of T2: cat is not independent along it: iterations read "
     "other parts of T0: f32[i0, i2] than their own"},
    {"pad",
     "fusion f(T0: f32[i0, i2]) -> T1 { T1 = pad(T0, widths=[1, 1, 0, 0]) } schedule { parallelize(T1, axis=0, "
     "type=Stream) }",
     "host program: Stream on axis 0 (iStream{( i0 + 2 )}) of T1: pad is not independent along it: iterations read "
     "other parts of T0: f32[i0, i2] than their own"},
    {"part_of_a_reshaped_axis",
     "fusion f(T0: f32[i0, 6]) -> T1 { T1 = reshape(T0, shape=[i0, 2, 3]) } schedule { parallelize(T1, axis=1, "
     "type=Stream) }",
     "host program: Stream on axis 1 (iStream{2}) of T1: reshape is not independent along it: iterations read other "
     "parts of T0: f32[i0, 6] than their own"},
    {"part_of_an_expanded_axis",
     "fusion f(T0: f32[i1]) -> T2 { T1 = expand(broadcast(T0, flags=[true, false]), shape=[8, i1]) T2 = pad(T1, "
     "widths=[1, 1, 0, 0]) } schedule { parallelize(T2, axis=0, type=Stream) }",
     "host program: Stream on axis 0 (iStream{10}) of T2: pad is not independent along it: iterations see other parts "
     "of "
     "the expanded axis 0 of T1: f32[8, i1] than their own"},
    {"operand_without_a_name",
     "fusion f(T0: f32[i0, 6]) -> T1 { T1 = reshape(relu(neg(T0)), shape=[i0, 2, 3]) } schedule { parallelize(T1, "
     "axis=1, type=Stream) }",
     "host program: Stream on axis 1 (iStream{2}) of T1: reshape is not independent along it: iterations read other "
     "parts of T3: f32[i0, 6] than their own"},
    {"last_op_of_a_composite",
     "fusion f(T0: f32[i0, 4], T1: f32[i0, 4], T2: f32[i0, 4]) -> T3 { T3 = cat([rope(T0, T1, T2), T0], axis=0) } "
     "schedule { parallelize(T3, axis=0, type=Stream) propagate(T3) }",
     "host program: Stream on axis 0 (iStream{( i0 + i0 )}) of T3: cat is not independent along it: iterations read "
     "other parts of T10: f32[i0, 4] than their own"},
};

class StreamRefusals : public testing::TestWithParam<Refusal> {};

// Ways to lower a fusion: which ops become one unit must not change what a mark means.
std::vector<HostLoweringOptions> groupings() {
  return {{.grouping = Grouping::Single},
          {.grouping = Grouping::Single, .stream_sync = StreamSync::InLoop},
          {.grouping = Grouping::Units},
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
  const HostText matmul_k{
      {"T0_g_float[iS0{m}, iS1{k}]", "T1_g_float[iS2{k}, iS3{n}]", "T2_g_float[iS4{m}, iS5{n}, rStreamIdx6{k}]"},
      "(@T0, @T1) -> (@T2)",
      "  @T2 = matmul(@T0,\n    @T1)\n"};
  EXPECT_EQ(refusalOf([&] { finishedProgramOf(matmul_k); }), kRefusals[0].message);
  const HostText input{
      {"T0_g_float[iStreamIdx0{i0}]", "T1_g_float[iS1{i0}]"}, "(@T0) -> (@T1)", "  @T1 = Set( @T0 )\n"};
  EXPECT_EQ(refusalOf([&] { finishedProgramOf(input); }),
            "host program: Stream on axis 0 (iStream{i0}) of T0: it is an input, and no stream loop runs along this "
            "axis of it; mark the output "
            "that reads it");
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
