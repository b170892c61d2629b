#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "define/functions.h"
#include "define/structured.h"
#include "error_of.h"
#include "loop_text.h"
#include "program_of.h"
#include "schedule/commands.h"
#include "schedule/transforms.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

class ScheduleTransforms : public testing::Test {
 protected:
  TensorView* floats(const Operands& shape) { return inputOf(fusion_, DataType::F32, shape); }
  static std::string messageOf(const std::function<void()>& call) {
    const Error error = errorOf(call);
    EXPECT_EQ(error.code(), ErrorCode::Schedule) << error.message();
    return error.message();
  }

  Fusion fusion_;
  TensorView* in_ = floats({fusion_.symbol("i0"), 8});
  TensorView* out_ = exp(in_);
};

TEST_F(ScheduleTransforms, AnInnerSplitGivesTheFactorToTheInnerAxis) {
  inner_split(out_, 0, 128);
  EXPECT_EQ(loopText(*out_), "iS{( ceilDiv(i0, 128) )}, iS{128}, iS{8}");
  EXPECT_EQ(out_->logical().size(), 2U);
}

TEST_F(ScheduleTransforms, AnOuterSplitGivesTheFactorToTheOuterAxis) {
  outer_split(out_, 0, 4);
  EXPECT_EQ(loopText(*out_), "iS{4}, iS{( ceilDiv(i0, 4) )}, iS{8}");
}

TEST_F(ScheduleTransforms, AFactorMayBeASymbol) {
  split(out_, -1, fusion_.symbol("f"));
  EXPECT_EQ(loopText(*out_), "iS{i0}, iS{( ceilDiv(8, f) )}, iS{f}");
}

TEST_F(ScheduleTransforms, PartsOfAReductionAxisAreReductionAxes) {
  TensorView* total = sum(in_, {1});
  split(total, 1, 4);
  EXPECT_EQ(loopText(*total), "iS{i0}, rS{2}, rS{4}");
}

TEST_F(ScheduleTransforms, PartsOfABroadcastAxisAreBroadcastAxes) {
  TensorView* row = unsqueeze(in_, 0);
  split(row, 0, 4);
  EXPECT_EQ(loopText(*row), "bS{1}, bS{1}, iS{i0}, iS{8}");
  TensorView* shown = expand(row, {6, -1, -1});
  split(shown, 0, 4);
  EXPECT_EQ(loopText(*shown), "bS{1->2}, bS{1->4}, iS{i0}, iS{8}");
}

TEST_F(ScheduleTransforms, AMergeIsRowMajor) {
  merge(out_, 0);
  EXPECT_EQ(loopText(*out_), "iS{( i0 * 8 )}");
  EXPECT_EQ(out_->axis(0)->definition()->in[0], out_->logical()[0]);
}

TEST_F(ScheduleTransforms, MergedKinds) {
  TensorView* row = exp(unsqueeze(unsqueeze(floats({8}), 0), 0));
  merge(row, 0);
  EXPECT_EQ(loopText(*row), "bS{1}, iS{8}");
  merge(row, 0);
  EXPECT_EQ(loopText(*row), "iS{8}");
  TensorView* total = sum(floats({2, 3, 4}), {1, 2});
  merge(total, 1);
  EXPECT_EQ(loopText(*total), "iS{2}, rS{12}");
}

TEST_F(ScheduleTransforms, ReorderTakesTheOldAxisPerNewPlace) {
  split(out_, 0, 4);
  reorder(out_, {1, -1, 0});
  EXPECT_EQ(loopText(*out_), "iS{4}, iS{8}, iS{( ceilDiv(i0, 4) )}");
}

TEST_F(ScheduleTransforms, AMarkIsPutOnTheAxis) {
  parallelize(out_, -1, ParallelType::Stream);
  EXPECT_EQ(loopText(*out_), "iS{i0}, iStream{8}");
}

TEST_F(ScheduleTransforms, AxesOutOfRangeAreRefused) {
  const std::string name = toString(*out_);
  EXPECT_EQ(messageOf([&] { split(out_, 2, 4); }),
            "split: axis 2 is out of bounds for " + name + " with 2 loop axes; legal are -2 to 1");
  EXPECT_THAT(messageOf([&] { parallelize(out_, -3, ParallelType::Stream); }),
              HasSubstr("parallelize: axis -3 is out of bounds"));
  EXPECT_THAT(messageOf([&] { merge(out_, 1); }), HasSubstr("merge: axis 1 is the last of"));
  EXPECT_THAT(messageOf([&] { split(sum(floats(std::vector<int64_t>{})), 0, 2); }), HasSubstr("has no axes"));
}

TEST_F(ScheduleTransforms, FactorsThatAreNoPositiveIntegersOfTheFusionAreRefused) {
  EXPECT_THAT(messageOf([&] { split(out_, 0, 0); }), HasSubstr("split: factor 0 for axis 0 (iSerial{i0})"));
  EXPECT_THAT(messageOf([&] { split(out_, 0, -2); }), HasSubstr("factors are positive integers"));
  EXPECT_THAT(messageOf([&] { split(out_, 0, fusion_.symbol("f", DataType::F64)); }), HasSubstr("positive integers"));
  Fusion other;
  EXPECT_THAT(messageOf([&] { split(out_, 0, other.constant(2)); }), HasSubstr("belongs to another fusion"));
}

TEST_F(ScheduleTransforms, MarkedAxesAreNotCutOrJoined) {
  parallelize(out_, 0, ParallelType::Stream);
  EXPECT_THAT(messageOf([&] { split(out_, 0, 4); }), HasSubstr("is already marked Stream; split it first, mark then"));
  EXPECT_THAT(messageOf([&] { merge(out_, 0); }), HasSubstr("is already marked Stream; merge it first, mark then"));
}

TEST_F(ScheduleTransforms, ReductionAxesDoNotMergeWithOthers) {
  TensorView* total = sum(in_, {1});
  EXPECT_THAT(messageOf([&] { merge(total, 0); }), HasSubstr("one is a reduction axis, the other is not"));
}

TEST_F(ScheduleTransforms, AnOrderNamesEveryAxisOnce) {
  EXPECT_THAT(messageOf([&] { reorder(out_, {0}); }), HasSubstr("1 axes in the order"));
  EXPECT_THAT(messageOf([&] { reorder(out_, {0, -2}); }), HasSubstr("axis -2 of"));
}

// --- by name ---

class ScheduleCommands : public ScheduleTransforms {
 protected:
  void command(std::string_view name, std::vector<CallArgument> arguments) {
    scheduleCommands().apply(
        fusion_, {.name = name, .arguments = std::move(arguments), .result = {}, .text = name, .place = {}});
  }
  CallArgument out() { return {{}, static_cast<Val*>(out_)}; }
};

TEST_F(ScheduleCommands, CommandsTakeArgumentsByPositionAndName) {
  command("split", {out(), {"axis", int64_t{0}}, {"factor", int64_t{128}}});
  command("split", {out(), {{}, int64_t{2}}, {"factor", int64_t{2}}, {"inner_split", false}});
  command("parallelize", {out(), {"axis", int64_t{0}}, {"type", std::string("Stream")}});
  EXPECT_EQ(loopText(*out_), "iStream{( ceilDiv(i0, 128) )}, iS{128}, iS{2}, iS{4}");
  command("merge", {out(), {"axis", int64_t{2}}});
  command("reorder", {out(), {"order", std::vector<int64_t>{2, 0, 1}}});
  EXPECT_EQ(loopText(*out_), "iS{8}, iStream{( ceilDiv(i0, 128) )}, iS{128}");
  command("inner_split", {out(), {{}, int64_t{0}}, {{}, int64_t{4}}});
  command("outer_split", {out(), {{}, int64_t{0}}, {{}, fusion_.symbol("f")}});
  EXPECT_EQ(loopText(*out_), "iS{f}, iS{( ceilDiv(2, f) )}, iS{4}, iStream{( ceilDiv(i0, 128) )}, iS{128}");
  command("propagate", {out()});
}

TEST_F(ScheduleCommands, WrongCommandsAreScheduleErrors) {
  EXPECT_THAT(messageOf([&] { command("fuse", {}); }),
              HasSubstr("fuse: no schedule command has this name; commands are split,"));
  EXPECT_THAT(messageOf([&] { command("split", {out(), {{}, int64_t{0}}}); }),
              HasSubstr("split: argument 'factor' is missing"));
  EXPECT_THAT(messageOf([&] { command("split", {{{}, fusion_.constant(3)}, {{}, int64_t{0}}, {{}, int64_t{2}}}); }),
              HasSubstr("split: 'tensor' must be a tensor"));
  EXPECT_THAT(messageOf([&] { command("merge", {out(), {{}, 0.5}}); }),
              HasSubstr("merge: 'axis' must be an integer; got a number"));
  EXPECT_THAT(messageOf([&] { command("parallelize", {out(), {{}, int64_t{0}}, {{}, std::string("Strem")}}); }),
              HasSubstr("is Strem, no parallel type; types are Serial, Stream, DIDx"));
  EXPECT_THAT(messageOf([&] {
                scheduleCommands().apply(
                    fusion_, {.name = "propagate", .arguments = {out()}, .result = "T9", .text = {}, .place = {}});
              }),
              HasSubstr("gives no tensor, so nothing can be named T9"));
}

}  // namespace
}  // namespace tokamak
