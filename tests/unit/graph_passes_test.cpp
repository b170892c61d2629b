#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "define/callables.h"
#include "error_of.h"
#include "graph/fold_casts.h"
#include "graph/fusion_passes.h"
#include "graph/infer_stride_order.h"
#include "ir/equal.h"
#include "ir/text/fusion_parser.h"
#include "ir/text/fusion_printer.h"
#include "program_of.h"
#include "schedule/commands.h"

namespace tokamak {
namespace {

using testing::ElementsAre;

std::vector<std::string> after(std::string_view pass, std::string_view text) {
  return programOf(*fusionPass(pass).run(*fusionFrom(text)));
}

TEST(FusionPasses, EachIsFoundByItsNameAndSaysWhatItDoes) {
  for (const FusionPass& pass : fusionPasses()) {
    EXPECT_EQ(&fusionPass(pass.name), &pass);
    EXPECT_TRUE(pass.sentence.ends_with('.')) << pass.name;
  }
  const Error error = errorOf([] { fusionPass("fold-cast"); });
  EXPECT_EQ(error.code(), ErrorCode::Usage);
  EXPECT_EQ(
      error.message(),
      "fold-cast: no pass has this name; passes are unify-extents, fold-empties, fold-casts, fold-movement, "
      "fold-ranges, "
      "merge-equal, remove-dead, two-stage-outer-reduction, infer-stride-order, propagate-shardings, make-reshardings");
}

TEST(FusionPasses, AProgramWithNothingToDoStaysTheSame) {
  const auto fusion = fusionFrom(
      "fusion f(T0: f32[i0, 8], T1: f32[8]) -> T3 { T2 = exp(T0) T3 = sum(T2, axes=[1]) }\n"
      "sizes { i0 = 4 } schedule { split(T3, axis=0, factor=2) parallelize(T3, axis=0, type=Stream) }");
  for (const FusionPass& pass : fusionPasses()) {
    EXPECT_EQ(firstDifference(*fusion, *pass.run(*fusion)), "") << pass.name;
  }
}

TEST(FusionPasses, EachIsIdempotent) {
  const auto fusion = fusionFrom("fusion f(T0: bf16[i0, 8]) -> T1, T2 { T1 = softmax(T0) T2 = add(exp(T0), exp(T0)) }");
  for (const FusionPass& pass : fusionPasses()) {
    const auto once = pass.run(*fusion);
    EXPECT_EQ(firstDifference(*once, *pass.run(*once)), "") << pass.name;
  }
}

TEST(RemoveDead, ExpressionsWithoutReadersGo) {
  const auto fusion = fusionFrom("fusion f(T0: f32[8], T1: f32[8]) -> T2 { T2 = exp(T0) T3 = neg(T2) T4 = sum(T3) }");
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

TEST(FoldCasts, AnOutputThatIsNothingElseIsAllOfIt) {
  EXPECT_THAT(after("fold-casts", "fusion f(T0: f32[8]) -> T1 { T1 = cast(T0, dtype=f32) }"),
              ElementsAre("slice f32[8]"));
  EXPECT_THAT(after("fold-casts", "fusion f(T0: f32[8]) -> T1 aliases T0 { T1 = cast(T0, dtype=f32) }"),
              ElementsAre("cast f32[8]"));
}

TEST(FoldCasts, AScheduledCastKeepsItsSchedule) {
  const auto folded =
      fusionPass("fold-casts")
          .run(*fusionFrom("fusion f(T0: bf16[8]) -> T3 { T1 = cast(T0, dtype=f32) T2 = cast(T1, dtype=bf16) "
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

// Values at the ends of the numbers of bits that types keep.
std::vector<ScalarValue> telling(DataType dtype) {
  std::vector<ScalarValue> values;
  for (int bits = 0; bits < 63; ++bits) {
    for (const int64_t near : {-1, 0, 1}) {
      for (const int64_t sign : {-1, 1}) values.push_back(convertValue(sign * ((int64_t{1} << bits) + near), dtype));
    }
  }
  if (isFloatingType(dtype)) {
    for (int power = -1074; power < 1024; ++power) values.push_back(convertValue(std::ldexp(1.0 / 3, power), dtype));
  }
  return values;
}

TEST(FoldCasts, ValuesThatArePreservedComeBack) {
  int lossless = 0;
  for (const DataType from : kAllDataTypes) {
    for (const DataType to : kAllDataTypes) {
      const auto values = telling(from);
      const auto lost = std::ranges::find_if(
          values, [&](const ScalarValue& value) { return !(convertValue(convertValue(value, to), from) == value); });
      EXPECT_EQ(preservesValues(from, to), lost == values.end()) << dataTypeName(from) << " in " << dataTypeName(to);
      lossless += lost == values.end() ? 1 : 0;
    }
  }
  EXPECT_EQ(lossless, 7 + 6 + 2 + 2 + 2 + 1);  // of every type in itself, and of bool, i32, f16, bf16 and f32
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

TEST(FoldMovement, WhatIsUndoneIsNothing) {
  EXPECT_THAT(after("fold-movement",
                    "fusion f(T0: f32[4, 8]) -> T3 { T1 = permute(T0, order=[1, 0]) T2 = permute(T1, order=[1, 0]) T3 "
                    "= exp(T2) }"),
              ElementsAre("exp f32[4, 8]"));
  EXPECT_THAT(after("fold-movement",
                    "fusion f(T0: f32[4, 8]) -> T3 { T1 = broadcast(T0, flags=[false, true, false]) "
                    "T2 = squeeze(T1, axes=[1]) T3 = exp(T2) }"),
              ElementsAre("exp f32[4, 8]"));
  EXPECT_THAT(
      after(
          "fold-movement",
          "fusion f(T0: f32[4, 8]) -> T3 { T1 = reshape(T0, shape=[32]) T2 = reshape(T1, shape=[4, 8]) T3 = exp(T2) }"),
      ElementsAre("exp f32[4, 8]"));
}

TEST(FoldMovement, ChainsFoldAsAWhole) {
  EXPECT_THAT(
      after("fold-movement",
            "fusion f(T0: f32[2, 3, 4]) -> T3 { T1 = permute(T0, order=[1, 2, 0]) T2 = permute(T1, order=[1, 2, 0]) "
            "T3 = permute(T2, order=[0, 2, 1]) }"),
      ElementsAre("permute f32[4, 3, 2]"));
  EXPECT_THAT(
      after("fold-movement",
            "fusion f(T0: f32[4]) -> T3 { T1 = broadcast(T0, flags=[true, false]) "
            "T2 = broadcast(T1, flags=[false, false, true]) T3 = broadcast(T2, flags=[true, false, false, false]) }"),
      ElementsAre("broadcast f32[b1, b1, 4, b1]"));
}

TEST(FoldMovement, WhatElseTheAxesAreUsedForStays) {
  EXPECT_THAT(
      after("fold-movement",
            "fusion f(T0: f32[4, 8]) -> T1, T2 { T1 = permute(T0, order=[1, 0]) T2 = permute(T1, order=[1, 0]) }"),
      ElementsAre("permute f32[8, 4]", "permute f32[4, 8]"));
}

TEST(FoldRanges, ASliceOfACatIsAPart) {
  EXPECT_THAT(after("fold-ranges",
                    "fusion f(T0: f32[4, 2], T1: f32[4, 3]) -> T4 { T2 = cat([exp(T0), exp(T1)], axis=1) "
                    "T3 = slice(T2, starts=[0, 2], stops=[4, 5]) T4 = neg(T3) }"),
              ElementsAre("exp f32[4, 3]", "neg f32[4, 3]"));
  EXPECT_THAT(after("fold-ranges",
                    "fusion f(T0: f32[4], T1: f32[4]) -> T3 { T2 = cat([T0, T1], axis=0) T3 = slice(T2, starts=[5], "
                    "stops=[7]) }"),
              ElementsAre("slice f32[2]"));
}

TEST(FoldRanges, ARangeOverTwoPartsStays) {
  EXPECT_THAT(after("fold-ranges",
                    "fusion f(T0: f32[4], T1: f32[4]) -> T3 { T2 = cat([T0, T1], axis=0) T3 = slice(T2, starts=[3], "
                    "stops=[7]) }"),
              ElementsAre("cat f32[8]", "slice f32[4]"));
}

TEST(FoldRanges, PadsAddUpAndSlicesOfPadsAreSlices) {
  EXPECT_THAT(
      after("fold-ranges", "fusion f(T0: f32[4]) -> T2 { T1 = pad(T0, widths=[1, 2]) T2 = pad(T1, widths=[3, 4]) }"),
      ElementsAre("pad f32[14]"));
  EXPECT_THAT(
      after("fold-ranges",
            "fusion f(T0: f32[4]) -> T2 { T1 = pad(T0, widths=[1, 2], value=1.0) T2 = pad(T1, widths=[3, 4]) }"),
      ElementsAre("pad f32[7]", "pad f32[14]"));
  EXPECT_THAT(after("fold-ranges",
                    "fusion f(T0: f32[4]) -> T3 { T1 = pad(T0, widths=[1, 2]) T2 = slice(T1, starts=[1], stops=[5]) T3 "
                    "= exp(T2) }"),
              ElementsAre("exp f32[4]"));
}

TEST(FoldRanges, PartsPutTogetherAreTheWhole) {
  EXPECT_THAT(
      after("fold-ranges",
            "fusion f(T0: f32[8]) -> T4 { T1 = slice(T0, starts=[0], stops=[3]) T2 = slice(T0, starts=[3], stops=[8]) "
            "T3 = cat([T1, T2], axis=0) T4 = exp(T3) }"),
      ElementsAre("exp f32[8]"));
  EXPECT_THAT(
      after("fold-ranges",
            "fusion f(T0: f32[8]) -> T4 { T1 = slice(T0, starts=[0], stops=[3]) T2 = slice(T0, starts=[3], stops=[8]) "
            "T3 = cat([T2, T1], axis=0) T4 = exp(T3) }")
          .size(),
      4U);
  EXPECT_THAT(after("fold-ranges",
                    "fusion f(T0: f32[2], T1: f32[3]) -> T3 { T2 = cat([T0, T1], axis=0) T3 = cat([T2, T0], axis=0) }"),
              ElementsAre("cat f32[7]"));
}

TEST(FoldEmpties, WhereThereAreNoElementsNothingIsComputed) {
  EXPECT_THAT(
      after("fold-empties", "fusion f(T0: f32[0, 8]) -> T2 { T1 = exp(T0) T2 = sum(T1, axes=[1]) T3 = neg(T1) }")
          .size(),
      2U);
  EXPECT_THAT(after("fold-empties", "fusion f(T0: f32[0, 8]) -> T2 { T1 = exp(T0) T2 = neg(T1) }"),
              ElementsAre("full f32[0, 8]"));
  EXPECT_THAT(after("fold-empties", "fusion f(T0: f32[0, 8]) -> T2 { T1 = sum(T0, axes=[0]) T2 = exp(T1) }"),
              ElementsAre("full f32[8]", "exp f32[8]"));
  EXPECT_THAT(after("fold-empties", "fusion f(T0: f32[0]) -> T1 { T1 = pad(T0, widths=[1, 2], value=3.0) }"),
              ElementsAre("full f32[3]"));
  EXPECT_THAT(
      after("fold-empties", "fusion f(T0: f32[4, 0], T1: f32[0, 8]) -> T3 { T2 = matmul(T0, T1) T3 = exp(T2) }"),
      ElementsAre("full f32[4, 8]", "exp f32[4, 8]"));
  EXPECT_THAT(
      after("fold-empties", "fusion f(T0: f32[0], T1: f32[4]) -> T3 { T2 = cat([T0, T1, T0], axis=0) T3 = exp(T2) }"),
      ElementsAre("exp f32[4]"));
}

TEST(UnifyExtents, SymbolsThatMustBeEqualBecomeOne) {
  const auto unified = fusionPass("unify-extents")
                           .run(*fusionFrom("fusion f(T0: f32[a, b], T1: f32[c, 8], T2: f32[b, d]) -> T4 { "
                                            "T3 = add(T0, T1) T4 = matmul(T3, T2) } sizes { c = 4, d = 5 }"));
  const Axes first = shapeOf(*asTensor(unified->inputs()[0]));
  const Axes second = shapeOf(*asTensor(unified->inputs()[1]));
  const Axes third = shapeOf(*asTensor(unified->inputs()[2]));
  EXPECT_EQ(first[0]->extent(), second[0]->extent());
  EXPECT_TRUE(first[1]->extent()->isConstantInt(8));
  EXPECT_TRUE(third[0]->extent()->isConstantInt(8));
  EXPECT_EQ(unified->defaultSizes().at(first[0]->extent()), 4);
  EXPECT_EQ(unified->defaultSizes().size(), 2U);
}

TEST(UnifyExtents, DifferentSymbolsThatNeedNotBeEqualStay) {
  const auto same =
      fusionFrom("fusion f(T0: f32[a, b], T1: f32[c, 1]) -> T2 { T2 = add(sum(T0, axes=[0]), sum(T1, axes=[0])) }");
  EXPECT_EQ(firstDifference(*same, *fusionPass("unify-extents").run(*same)), "");
}

std::optional<std::vector<int64_t>> hintOf(std::string_view text) {
  const auto inferred = fusionPass("infer-stride-order").run(*fusionFrom(text));
  return inferred->outputs()[0]->domain().stride_order_hint;
}

using Ranks = std::vector<int64_t>;

TEST(InferStrideOrder, OutputsFollowTheInputWithTheMostAxes) {
  EXPECT_EQ(hintOf("fusion f(T0: f32[a, b] stride_order(0, 1)) -> T1 { T1 = exp(T0) }"), (Ranks{0, 1}));
  EXPECT_EQ(hintOf("fusion f(T0: f32[b], T1: f32[a, b] stride_order(0, 1)) -> T2 { T2 = add(T0, T1) }"), (Ranks{0, 1}));
  EXPECT_EQ(hintOf("fusion f(T0: f32[a, b, c] stride_order(1, 0, 2)) -> T1 { T1 = permute(exp(T0), order=[2, 0, 1]) }"),
            std::nullopt);
  EXPECT_EQ(hintOf("fusion f(T0: f32[a, b, c] stride_order(0, 1, 2)) -> T1 { T1 = sum(T0, axes=[1]) }"), (Ranks{0, 1}));
  EXPECT_EQ(hintOf("fusion f(T0: f32[a, b]) -> T1 { T1 = exp(T0) }"), std::nullopt);
}

TEST(InferStrideOrder, ProductsAndReshapesGiveRowMajorResults) {
  EXPECT_EQ(hintOf("fusion f(T0: f32[b, m, k] stride_order(0, 1, 2), T1: f32[n, k] stride_order(0, 1)) -> T2 { T2 = "
                   "linear(T0, T1) }"),
            std::nullopt);
  EXPECT_EQ(hintOf("fusion f(T0: f32[m, k] stride_order(0, 1), T1: f32[k, n]) -> T2 { T2 = matmul(T0, T1) }"),
            std::nullopt);
  EXPECT_EQ(hintOf("fusion f(T0: f32[4, 8] stride_order(0, 1)) -> T1 { T1 = reshape(T0, shape=[8, 4]) }"),
            std::nullopt);
}

TEST(InferStrideOrder, ARequirementStaysAndIsValidated) {
  const auto fusion = fusionFrom("fusion f(T0: f32[4, 8] stride_order(0, 1)) -> T2 { T1 = exp(T0) T2 = neg(T1) }");
  TensorView* output = fusion->outputs()[0];
  setOutputStrideOrder(*output, {1, 0});
  const auto inferred = fusionPass("infer-stride-order").run(*fusion);
  EXPECT_EQ(inferred->outputs()[0]->domain().stride_order, (Ranks{1, 0}));
  EXPECT_EQ(inferred->outputs()[0]->domain().stride_order_hint, std::nullopt);

  EXPECT_EQ(errorOf([&] { setOutputStrideOrder(*output, {1, 1}); }).message(),
            "setOutputStrideOrder: [1, 1] for T2: f32[4, 8]; each of its 2 axes has a rank of its own, 0 the fastest");
  EXPECT_EQ(errorOf([&] { setOutputStrideOrder(*asTensor(fusion->inputs()[0]), {0, 1}); }).message(),
            "setOutputStrideOrder: T0: f32[4, 8] is no output of the fusion");
}

}  // namespace
}  // namespace tokamak
