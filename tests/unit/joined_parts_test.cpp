// Concatenations of parts of one tensor: every axis, place, distance, cast and copy, against the meaning of the
// program.
#include <algorithm>
#include <initializer_list>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/fold_ranges.h"
#include "ir/ops/math/cat_op.h"
#include "oracle/evaluate.h"
#include "program_of.h"

namespace tokamak {
namespace {

constexpr int kAxes = 3;
constexpr int64_t kExtent = 4;

oracle::OracleTensor numbered() {
  const int64_t sizes[] = {kExtent, kExtent, kExtent};
  oracle::OracleTensor tensor = oracle::zeros(DataType::BF16, sizes);
  for (size_t i = 0; i < tensor.elements.size(); ++i) tensor.elements[i].number = static_cast<double>(i);
  return tensor;
}

void expectSameElements(const Fusion& before, const Fusion& after, const std::string& text) {
  const oracle::Input inputs[] = {numbered()};
  const auto want = oracle::evaluate(before, inputs).outputs;
  const auto have = oracle::evaluate(after, inputs).outputs;
  ASSERT_EQ(want.size(), have.size()) << text;
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(want[i].sizes, have[i].sizes) << text;
    for (size_t j = 0; j < want[i].elements.size(); ++j)
      ASSERT_EQ(want[i].elements[j].number, have[i].elements[j].number) << text;
  }
}

bool hasCat(const Fusion& fusion) {
  return std::ranges::any_of(fusion.exprs(), [](const Expr* expr) { return expr->is<CatOp>(); });
}

std::string catOf(const std::string& parts, int axis) {
  return fmt::format("fusion f(x: bf16[4, 4, 4]) -> y {{ y = cat([{}], axis={}) }}", parts, axis);
}

// Nothing, a cast, a copy, both; of what is selected or cut out, or a copy of the tensor.
constexpr const char* kSteps[] = {"{}", "cast({}, dtype=f32)", "set({})", "set(cast({}, dtype=f32))",
                                  "cast(set({}), dtype=f32)"};

void expectJoined(const std::string& parts, int axis) {
  const std::string text = catOf(parts, axis);
  const auto fusion = fusionFrom(text);
  const auto folded = foldRanges(*fusion);
  EXPECT_FALSE(hasCat(*folded)) << text;
  expectSameElements(*fusion, *folded, text);
}

TEST(JoinedParts, OfSinglePositionsAreTheTensor) {
  for (int from = 0; from < kAxes; ++from) {
    for (int to = 0; to < kAxes; ++to) {
      for (const char* step : kSteps) {
        for (int distance = 1; distance <= 2; ++distance) {
          for (int first = 0; first < 2; ++first) {
            std::string parts;
            for (int64_t at = first; at < kExtent; at += distance) {
              const std::string position = fmt::format("select({}, {}, {})", at == 2 ? "set(x)" : "x", from, at);
              parts += fmt::format("{}unsqueeze({}, axis={})", parts.empty() ? "" : ", ",
                                   fmt::format(fmt::runtime(step), position), to);
            }
            expectJoined(parts, to);
          }
        }
      }
    }
  }
}

TEST(JoinedParts, OfRangesThatWereCastOrCopiedAreTheTensor) {
  for (int axis = 0; axis < kAxes; ++axis) {
    const auto range = [&](const char* of, int64_t start, int64_t stop) {
      return fmt::format("slice({}, axis={}, start={}, stop={})", of, axis, start, stop);
    };
    for (const char* step : kSteps) {
      for (int64_t cut = 1; cut < kExtent; ++cut) {
        const auto stepped = [&](const std::string& part) { return fmt::format(fmt::runtime(step), part); };
        expectJoined(stepped(range("x", 0, cut)) + ", " + stepped(range("x", cut, kExtent)), axis);
        expectJoined(stepped(range("set(x)", 0, cut)) + ", " + stepped(range("x", cut, kExtent)), axis);
      }
    }
    expectJoined(fmt::format("unsqueeze(select(x, {0}, 1), axis={0}), ", axis) + range("x", 2, kExtent), axis);
  }
}

// In another order, with a gap that is not the same, of something else, cast otherwise or twice the same.
TEST(JoinedParts, StayWhereTheyAreNoRange) {
  const auto positions = [](std::initializer_list<int> places) {
    std::string parts;
    for (const int place : places) parts += fmt::format("{}unsqueeze(x[{}], axis=1)", parts.empty() ? "" : ", ", place);
    return parts;
  };
  for (const std::string& parts :
       {positions({1, 0}), positions({0, 0}), positions({0, 1, 3}), positions({0, 1, 0}),
        std::string("unsqueeze(x[0], axis=1), unsqueeze(neg(x)[1], axis=1)"),
        std::string("unsqueeze(x[0], axis=1), unsqueeze(x[:, 1], axis=1)"),
        std::string("unsqueeze(cast(cast(x[0], dtype=f16), dtype=f32), axis=1), unsqueeze(cast(x[1], dtype=f32), "
                    "axis=1)"),
        std::string("cast(cast(x[:, 0:2], dtype=f16), dtype=f32), cast(x[:, 2:4], dtype=f32)"),
        std::string("cast(x[:, 0:2], dtype=f32), cast(x[:, 1:3], dtype=f32)")}) {
    const std::string text = catOf(parts, 1);
    const auto fusion = fusionFrom(text);
    const auto folded = foldRanges(*fusion);
    EXPECT_TRUE(hasCat(*folded)) << text;
    expectSameElements(*fusion, *folded, text);
  }
}

}  // namespace
}  // namespace tokamak
