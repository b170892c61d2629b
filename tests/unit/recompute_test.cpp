#include "segment/recompute.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "define/callables.h"
#include "ir/expr.h"
#include "ir/ops/math/reduction_op.h"
#include "ir/text/fusion_parser.h"

namespace tokamak {
namespace {

using Groups = std::vector<std::vector<std::string>>;

// Sums over rows give no tensors with rows.
MergeRules sumsGiveNoRows() {
  const auto mayBeGroup = [](const SegmentedGroup& group) {
    const bool reduces = std::ranges::any_of(group.exprs, [](const Expr* expr) { return expr->is<ReductionOp>(); });
    const auto hasRows = [](const TensorView* tensor) { return shapeOf(*tensor).size() == 2; };
    return !reduces || std::ranges::none_of(group.outputs, hasRows);
  };
  return {.stays_alone = [](const Expr&) { return false; }, .may_be_group = mayBeGroup};
}

Groups labelsOfGroups(const std::string& ops) {
  const auto fusion =
      parseFusion("fusion f(T0: f32[64, 8]) -> T9 { " + ops + " T9 = sub(T0, broadcast(T8, flags=[true, false])) }",
                  "test.fusion", {.resolver = &definingResolver()});
  Groups names;
  for (const SegmentedGroup& group : recomputeCheap(*fusion, segment(*fusion, sumsGiveNoRows()), sumsGiveNoRows())) {
    names.emplace_back();
    for (const TensorView* output : group.outputs) names.back().push_back(nameOf(*output));
  }
  return names;
}

// What is made of a reduction is computed for each element that reads it if that takes one instruction, otherwise once,
// by the group of the reduction.
TEST(Recompute, WhatIsRepeatedTakesOneInstructionAtMost) {
  EXPECT_EQ(labelsOfGroups("T1 = sum(T0, axes=[0]) T8 = mul(T1, T1)"), (Groups{{"T1"}, {"T9"}}));
  EXPECT_EQ(labelsOfGroups("T1 = sum(T0, axes=[0]) T2 = mul(T1, T1) T8 = add(T2, T1)"), (Groups{{"T8"}, {"T9"}}));
  EXPECT_EQ(labelsOfGroups("T1 = sum(T0, axes=[0]) T8 = div(T1, 3.0)"), (Groups{{"T8"}, {"T9"}}));
}

// For each group the names of what it reads.
Groups inputsOfGroups(const std::string& text) {
  const auto fusion = parseFusion(text, "test.fusion", {.resolver = &definingResolver()});
  Groups names;
  for (const SegmentedGroup& group : recomputeCheap(*fusion, segment(*fusion, sumsGiveNoRows()), sumsGiveNoRows())) {
    names.emplace_back();
    for (const TensorView* input : group.inputs) names.back().push_back(nameOf(*input));
  }
  return names;
}

// An output is in memory in any case: one instruction on what it is made of takes no more, a sine does.
TEST(Recompute, OutputsAreReadWhereTheirFunctionIsExpensive) {
  const auto reading = [](const std::string& function) {
    return inputsOfGroups("fusion f(T0: f32[64, 8]) -> T1, T2 { T1 = " + function + "(T0) T2 = sum(T1, axes=[0]) }");
  };
  EXPECT_EQ(reading("neg"), (Groups{{"T0"}, {"T0"}}));
  EXPECT_EQ(reading("sin"), (Groups{{"T0"}, {"T1"}}));
}

TEST(Recompute, LongChainsAreNot) {
  const auto reading = [](int64_t ops) {
    std::string text = "fusion f(T0: f32[64, 8]) -> T900, T1000 { T1 = neg(T0) ";
    for (int64_t i = 2; i <= ops; ++i) text += fmt::format("T{} = abs(T{}) ", i, i - 1);
    return inputsOfGroups(text + fmt::format("T900 = sub(T{0}, T0) T1000 = sum(T{0}, axes=[0]) }}", ops));
  };
  EXPECT_EQ(reading(32), (Groups{{"T0"}, {"T0"}}));
  EXPECT_EQ(reading(33), (Groups{{"T0"}, {"T33"}}));
}

}  // namespace
}  // namespace tokamak
