#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "define/callables.h"
#include "error_of.h"
#include "graph/fold_casts.h"
#include "graph/fusion_passes.h"
#include "ir/equal.h"
#include "ir/text/fusion_parser.h"
#include "ir/text/fusion_printer.h"
#include "program_of.h"
#include "schedule/commands.h"

namespace tokamak {
namespace {

using testing::ElementsAre;

std::unique_ptr<Fusion> read(std::string_view text) {
  return parseFusion(text, "test.fusion", {.resolver = &definingResolver(), .scheduler = &scheduleCommands()});
}

std::vector<std::string> after(std::string_view pass, std::string_view text) {
  return programOf(*fusionPass(pass).run(*read(text)));
}

TEST(FusionPasses, EachIsFoundByItsNameAndSaysWhatItDoes) {
  for (const FusionPass& pass : fusionPasses()) {
    EXPECT_EQ(&fusionPass(pass.name), &pass);
    EXPECT_TRUE(pass.sentence.ends_with('.')) << pass.name;
  }
  const Error error = errorOf([] { fusionPass("fold-cast"); });
  EXPECT_EQ(error.code(), ErrorCode::Usage);
  EXPECT_EQ(error.message(), "fold-cast: no pass has this name; passes are fold-casts, merge-equal, remove-dead");
}

TEST(FusionPasses, AProgramWithNothingToDoStaysTheSame) {
  const auto fusion = read(
      "fusion f(T0: f32[i0, 8], T1: f32[8]) -> T3 { T2 = exp(T0) T3 = sum(T2, axes=[1]) }\n"
      "sizes { i0 = 4 } schedule { split(T3, axis=0, factor=2) parallelize(T3, axis=0, type=Stream) }");
  for (const FusionPass& pass : fusionPasses()) {
    EXPECT_EQ(firstDifference(*fusion, *pass.run(*fusion)), "") << pass.name;
  }
}

TEST(FusionPasses, EachIsIdempotent) {
  const auto fusion = read("fusion f(T0: bf16[i0, 8]) -> T1, T2 { T1 = softmax(T0) T2 = add(exp(T0), exp(T0)) }");
  for (const FusionPass& pass : fusionPasses()) {
    const auto once = pass.run(*fusion);
    EXPECT_EQ(firstDifference(*once, *pass.run(*once)), "") << pass.name;
  }
}

TEST(RemoveDead, ExpressionsWithoutReadersGo) {
  const auto fusion = read("fusion f(T0: f32[8], T1: f32[8]) -> T2 { T2 = exp(T0) T3 = neg(T2) T4 = sum(T3) }");
  const auto cleaned = fusionPass("remove-dead").run(*fusion);
  EXPECT_THAT(programOf(*cleaned), ElementsAre("exp f32[8]"));
  EXPECT_EQ(cleaned->inputs().size(), 2U);
}

TEST(FoldCasts, ACastAfterAValuePreservingOneReadsItsSource) {
  EXPECT_THAT(after("fold-casts", "fusion f(T0: bf16[8]) -> T2 { T1 = cast(T0, dtype=f32) T2 = cast(T1, dtype=f64) }"),
              ElementsAre("cast f64[8]"));
}

TEST(FoldCasts, ThereAndBackIsNothing) {
  EXPECT_THAT(after("fold-casts",
                    "fusion f(T0: bf16[8]) -> T3 { T1 = cast(T0, dtype=f32) T2 = cast(T1, dtype=bf16) T3 = permute(T2, "
                    "order=[0]) }"),
              ElementsAre("permute bf16[8]"));
}

TEST(FoldCasts, ChainsFoldAsAWhole) {
  EXPECT_THAT(
      after("fold-casts",
            "fusion f(T0: f16[8]) -> T4 { T1 = cast(T0, dtype=f32) T2 = cast(T1, dtype=f64) T3 = cast(T2, dtype=f16) "
            "T4 = cast(T3, dtype=f32) }"),
      ElementsAre("cast f32[8]"));
}

TEST(FoldCasts, CastsThatLoseSomethingStay) {
  EXPECT_THAT(after("fold-casts", "fusion f(T0: f32[8]) -> T2 { T1 = cast(T0, dtype=bf16) T2 = cast(T1, dtype=f32) }"),
              ElementsAre("cast bf16[8]", "cast f32[8]"));
  EXPECT_THAT(after("fold-casts", "fusion f(T0: i64[8]) -> T2 { T1 = cast(T0, dtype=f64) T2 = cast(T1, dtype=i64) }"),
              ElementsAre("cast f64[8]", "cast i64[8]"));
}

TEST(FoldCasts, ACastWithOtherReadersStaysForThem) {
  EXPECT_THAT(
      after("fold-casts",
            "fusion f(T0: bf16[8]) -> T2, T3 { T1 = cast(T0, dtype=f32) T2 = exp(T1) T3 = cast(T1, dtype=f64) }"),
      ElementsAre("cast f32[8]", "exp f32[8]", "cast f64[8]"));
}

TEST(FoldCasts, AnOutputKeepsItsExpression) {
  EXPECT_THAT(after("fold-casts", "fusion f(T0: f32[8]) -> T1 { T1 = cast(T0, dtype=f32) }"),
              ElementsAre("cast f32[8]"));
}

TEST(FoldCasts, AScheduledCastKeepsItsSchedule) {
  const auto folded = fusionPass("fold-casts")
                          .run(*read("fusion f(T0: bf16[8]) -> T3 { T1 = cast(T0, dtype=f32) T2 = cast(T1, dtype=bf16) "
                                     "T3 = permute(T2, order=[0]) }\n"
                                     "schedule { parallelize(T2, axis=0, type=Stream) }"));
  EXPECT_THAT(programOf(*folded), ElementsAre("cast bf16[8]", "permute bf16[8]"));
  EXPECT_TRUE(asTensor(folded->exprs()[0]->output(0))->axis(0)->isStream());
}

TEST(FoldCasts, PreservationIsAPartialOrder) {
  for (const DataType a : kAllDataTypes) {
    EXPECT_TRUE(preservesValues(a, a));
    for (const DataType b : kAllDataTypes) {
      EXPECT_FALSE(a != b && preservesValues(a, b) && preservesValues(b, a));
      for (const DataType c : kAllDataTypes) {
        EXPECT_TRUE(!preservesValues(a, b) || !preservesValues(b, c) || preservesValues(a, c));
      }
    }
  }
  // The classic traps: f16 and bf16 hold different values; f32 does not hold all of i32, f64 not all of i64.
  EXPECT_FALSE(preservesValues(DataType::F16, DataType::BF16));
  EXPECT_FALSE(preservesValues(DataType::I32, DataType::F32));
  EXPECT_FALSE(preservesValues(DataType::I64, DataType::F64));
}

TEST(MergeEqual, EqualExpressionsAreComputedOnce) {
  EXPECT_THAT(
      after("merge-equal",
            "fusion f(T0: f32[8]) -> T5 { T1 = exp(T0) T2 = exp(T0) T3 = neg(T1) T4 = neg(T2) T5 = add(T3, T4) }"),
      ElementsAre("exp f32[8]", "neg f32[8]", "add f32[8]"));
}

TEST(MergeEqual, OtherAttributesOrOperandsAreNotEqual) {
  EXPECT_EQ(after("merge-equal",
                  "fusion f(T0: f32[8, 8], T1: f32[8, 8]) -> T6 { T2 = sum(T0, axes=[0]) T3 = sum(T0, axes=[1]) "
                  "T4 = max(T0, axes=[1]) T5 = sum(T1, axes=[0]) T6 = add(add(T2, T3), add(T4, T5)) }")
                .size(),
            7U);
}

TEST(MergeEqual, OutputsSetsAndScheduledTensorsStay) {
  EXPECT_EQ(after("merge-equal", "fusion f(T0: f32[8]) -> T1, T2 { T1 = exp(T0) T2 = exp(T0) }").size(), 2U);
  EXPECT_EQ(after("merge-equal", "fusion f(T0: f32[8]) -> T3 { T1 = set(T0) T2 = set(T0) T3 = add(T1, T2) }").size(),
            3U);
  EXPECT_EQ(after("merge-equal",
                  "fusion f(T0: f32[8]) -> T3 { T1 = exp(T0) T2 = exp(T0) T3 = add(T1, T2) }\n"
                  "schedule { parallelize(T2, axis=0, type=Stream) }")
                .size(),
            3U);
}

}  // namespace
}  // namespace tokamak
