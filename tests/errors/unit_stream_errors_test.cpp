// Stream axes over host units: what cannot be cut is refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "define/callables.h"
#include "error_of.h"
#include "host/lower_fusion.h"
#include "ir/text/fusion_parser.h"
#include "schedule/commands.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& ops, const std::string& streamed) {
  const std::string text = "fusion f(T0: f32[n, n]) -> " + streamed + " { " + ops + " } schedule { parallelize(" +
                           streamed + ", axis=0, type=Stream) }";
  const auto fusion = parseFusion(text, "f.fusion", {.resolver = &definingResolver(), .scheduler = &scheduleCommands()});
  const Error error = errorOf([&] { lowerToHostProgram(*fusion, {.grouping = Grouping::Units}); });
  EXPECT_EQ(error.code(), ErrorCode::HostProgram) << error.what();
  return error.message();
}

TEST(UnitStreamErrors, ATensorThatWouldBeCutAlongTwoAxes) {
  EXPECT_THAT(refusal("T1 = neg(T0) T2 = permute(T1, order=[1, 0]) T3 = add(T1, T2)", "T3"),
              HasSubstr("would be cut along its axes"));
}

TEST(UnitStreamErrors, ATensorThatIsReadWholeAndInSlices) {
  EXPECT_THAT(refusal("T1 = neg(T0) T2 = sum(T1, axes=[0]) T3 = broadcast(T2, flags=[true, false]) T4 = sub(T1, T3)", "T4"),
              HasSubstr("is read whole by"));
}

}  // namespace
}  // namespace tokamak
