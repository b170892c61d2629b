// Stream axes over segments: what cannot be cut is refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile/lower_fusion.h"
#include "define/callables.h"
#include "error_of.h"
#include "ir/text/fusion_parser.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

struct Mark {
  int64_t output = 0;
  int64_t axis = 0;
};

// All ops are one segment, as a program written by hand may have it: segments that are made of a fusion with marks end
// where a loop could not cut them.
std::string refusal(const std::string& ops, const std::string& outputs, const std::vector<Mark>& marks) {
  const std::string text = "fusion f(T0: f32[n, n]) -> " + outputs + " { " + ops + " }";
  const auto fusion = parseFusion(text, "f.fusion", {.resolver = &definingResolver()});
  const HostLoweringOptions options{.grouping = Grouping::Segments};
  const auto program = makeHostProgram(*fusion, options);
  for (const Mark& mark : marks)
    program->outputs()[static_cast<size_t>(mark.output)]->axis(mark.axis)->parallelize(ParallelType::Stream);
  const Error error = errorOf([&] { finishHostProgram(*program, options); });
  EXPECT_EQ(error.code(), ErrorCode::HostProgram) << error.what();
  return error.message();
}

TEST(UnitStreamErrors, ATensorThatWouldBeCutAlongTwoAxes) {
  EXPECT_THAT(refusal("T1 = neg(T0) T2 = permute(T1, order=[1, 0]) T3 = add(T1, T2)", "T3", {{0, 0}}),
              HasSubstr("would be cut along its axes"));
}

TEST(UnitStreamErrors, ATensorThatIsReadWholeThroughABroadcastAxis) {
  EXPECT_THAT(refusal("T1 = neg(T0) T2 = sum(T1, axes=[0]) T3 = broadcast(T2, flags=[true, false]) T4 = sub(T1, T3)",
                      "T4", {{0, 0}}),
              HasSubstr("is read whole by sum and in slices by others"));
  EXPECT_THAT(refusal("T1 = sum(T0, axes=[0]) T2 = expand(broadcast(T1, flags=[true, false]), shape=[n, n]) T3 = "
                      "sub(T0, T2)",
                      "T3", {{0, 0}}),
              HasSubstr("with an expanded axis along the loop; stream its ops one by one"));
  // The same where each is an output of its own.
  const std::string ops = "T1 = neg(T0) T2 = sum(T1, axes=[0]) T3 = broadcast(T2, flags=[true, false])";
  EXPECT_THAT(refusal(ops, "(T1, T3)", {{0, 0}, {1, 0}}),
              HasSubstr("is streamed along an axis that does not map to it"));
}

TEST(UnitStreamErrors, OutputsThatAreStreamedAlongDifferentAxes) {
  EXPECT_THAT(refusal("T1 = exp(T0) T2 = neg(T1)", "(T1, T2)", {{0, 0}, {1, 1}}),
              HasSubstr("is streamed along an axis that does not map to it"));
}

TEST(UnitStreamErrors, OutputsOfWhichOneIsNotStreamed) {
  EXPECT_THAT(refusal("T1 = exp(T0) T2 = neg(T1)", "(T1, T2)", {{0, 0}}),
              HasSubstr("is not marked like the others; mark all outputs or none"));
}

}  // namespace
}  // namespace tokamak
