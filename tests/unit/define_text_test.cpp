// Texts that call functions beyond the ops, with schedules: read with the resolvers of define/ and schedule/, printed, read back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "define/callables.h"
#include "ir/equal.h"
#include "ir/text/fusion_parser.h"
#include "ir/text/fusion_printer.h"
#include "loop_text.h"
#include "program_of.h"
#include "schedule/commands.h"

namespace tokamak {
namespace {

class DefineText : public testing::TestWithParam<std::string_view> {};

TEST_P(DefineText, ReadsBackWhatItPrints) {
  const auto fusion = fusionFrom(GetParam());
  const std::string printed = printFusion(*fusion);
  const auto again = fusionFrom(printed);
  EXPECT_EQ(firstDifference(*fusion, *again), "") << printed;
  EXPECT_EQ(printFusion(*again), printed);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, DefineText,
    testing::Values(
        "fusion f(T0: bf16[i0, i2]) -> T1 { T1 = softmax(T0) }",
        "fusion f(T0: bf16[i0, i2]) -> T1 { T1 = cast(softmax(T0, axis=0), dtype=bf16)  }\n"
        "schedule { split(T1, axis=0, factor=128) parallelize(T1, axis=0, type=Stream) propagate(T1) }",
        "fusion f(T0: f32[i0, 8], T1: f32[8]) -> T2 { T2 = layer_norm(T0, T1, eps=1e-6) }",
        "fusion f(T0: f16[4, i0], T1: i64[i0]) -> T2 { T2 = where(lt(T1, 3), mul(T0, 0.5), 0) }",
        "fusion f(T0: f32[i0, 6]) -> T1 { T1 = gelu(reshape(T0, [-1, 3])) }",
        "fusion f(T0: f32[i0, 6]) -> T1 { T1 = var(T0, axes=[1], keepdim=true) }",
        "fusion f(T0: i32[i0, 1]) -> T1 { T1 = sum(expand(T0, [-1, 5])) }",
        "fusion f(T0: bf16[2, 8, 16]) -> T1 { T1 = attention(T0, T0, T0, is_causal=true) }",
        "fusion f(T0: f32[i0, i1, 4], T1: f32[4, 5]) -> T2 { T2 = matmul(T0, T1) }\n"
        "schedule { merge(T2, axis=0) outer_split(T2, axis=0, factor=4) parallelize(T2, axis=0, type=Stream) }"));

TEST(DefineTextSchedule, TheExampleOfADesignIsMarkedThroughout) {
  const auto fusion = fusionFrom(R"(
fusion softmax(T0: bf16[i0, i2]) -> T7 {
  T1 = cast(T0, dtype=f32)
  T2 = max(T1, axes=[1], keepdim=true)
  T3 = sub(T1, T2)
  T4 = exp(T3)
  T5 = sum(T4, axes=[1], keepdim=true)
  T6 = div(T4, T5)
  T7 = cast(T6, dtype=bf16)
}
schedule {
  split(T7, axis=0, factor=128)
  parallelize(T7, axis=0, type=Stream)
  propagate(T7)
})");
  EXPECT_EQ(describe(*fusion->outputs()[0]), "bf16[i0, i2]");
  for (const Expr* expr : fusion->exprs())
    EXPECT_TRUE(asTensor(expr->output(0))->axis(0)->isStream()) << callName(*expr);
}

}  // namespace
}  // namespace tokamak
