#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "define/callables.h"
#include "ir/ops/math/pointwise_op.h"
#include "ir/text/fusion_parser.h"
#include "program_of.h"
#include "segment/segmenter.h"

namespace tokamak {
namespace {

using Groups = std::vector<std::vector<std::string>>;

Groups namesOf(const std::vector<SegmentedGroup>& groups) {
  Groups names;
  for (const SegmentedGroup& group : groups) {
    names.emplace_back();
    for (const Expr* expr : group.exprs) names.back().push_back(nameOf(*asTensor(expr->output(0))));
  }
  return names;
}

bool isLibrary(const Expr& expr) { return expr.info().is_library; }

MergeRules anythingGoes() {
  return {.stays_alone = isLibrary, .may_be_group = [](const SegmentedGroup&) { return true; }};
}

MergeRules atMost(size_t ops) {
  return {.stays_alone = isLibrary,
          .may_be_group = [ops](const SegmentedGroup& group) { return group.exprs.size() <= ops; }};
}

TEST(Segmenter, TheRulesOfTheCallerDecide) {
  const auto fusion =
      fusionFrom("fusion f(T0: f32[8]) -> T5 { T1 = exp(T0) T2 = neg(T1) T3 = sin(T2) T4 = cos(T3) T5 = abs(T4) }");
  EXPECT_EQ(namesOf(segment(*fusion, anythingGoes())), (Groups{{"T1", "T2", "T3", "T4", "T5"}}));
  EXPECT_EQ(namesOf(segment(*fusion, atMost(1))), (Groups{{"T1"}, {"T2"}, {"T3"}, {"T4"}, {"T5"}}));
  EXPECT_EQ(namesOf(segment(*fusion, atMost(2))), (Groups{{"T1", "T2"}, {"T3", "T4"}, {"T5"}}));
  EXPECT_EQ(namesOf(segment(*fusion, atMost(3))), (Groups{{"T1", "T2", "T3"}, {"T4", "T5"}}));
}

TEST(Segmenter, WhatStaysAloneIsAGroupOfItsOwn) {
  const auto fusion =
      fusionFrom("fusion f(T0: f32[8, 8]) -> T4 { T1 = exp(T0) T2 = matmul(T1, T0) T3 = neg(T2) T4 = add(T3, T2) }");
  EXPECT_EQ(namesOf(segment(*fusion, anythingGoes())), (Groups{{"T1"}, {"T2"}, {"T3", "T4"}}));
}

TEST(Segmenter, AWholeIsAGroupWhateverIsSaid) {
  const auto fusion = fusionFrom(
      "fusion f(T0: f32[8, 8]) -> T6 { T1 = exp(T0) T2 = matmul(T1, T0) T3 = neg(T1) T4 = neg(T2) T5 = abs(T4) T6 = "
      "add(T5, T3) "
      "}");
  MergeRules rules = anythingGoes();
  const std::vector<Expr*> exprs = fusion->exprs();
  rules.fixed_groups = {{exprs[1], exprs[3], exprs[4]}};
  rules.stays_alone = [whole = rules.fixed_groups[0]](const Expr& expr) {
    return std::ranges::find(whole, &expr) != whole.end();
  };
  EXPECT_EQ(namesOf(segment(*fusion, rules)), (Groups{{"T1", "T3"}, {"T2", "T4", "T5"}, {"T6"}}));
}

TEST(Segmenter, GroupsThatReadOneAnotherInACircleDoNotArise) {
  // T3 and T1 would be one group without the product between them.
  const auto fusion = fusionFrom("fusion f(T0: f32[8, 8]) -> T3 { T1 = exp(T0) T2 = matmul(T1, T0) T3 = add(T1, T2) }");
  EXPECT_EQ(namesOf(segment(*fusion, anythingGoes())), (Groups{{"T1"}, {"T2"}, {"T3"}}));
}

TEST(Segmenter, AGroupKnowsItsBorder) {
  const auto fusion = fusionFrom(
      "fusion f(T0: f32[8, 8], T1: f32[8, 8]) -> T3, T5 { T2 = exp(T0) T3 = add(T2, T1) T4 = matmul(T2, T0) T5 = "
      "neg(T4) }");
  const auto groups = segment(*fusion, anythingGoes());
  ASSERT_EQ(namesOf(groups), (Groups{{"T2", "T3"}, {"T4"}, {"T5"}}));
  EXPECT_EQ(groups[0].inputs, tensorsOf(fusion->inputs()));
  ASSERT_EQ(groups[0].outputs.size(), 2U);
  EXPECT_EQ(nameOf(*groups[0].outputs[0]), "T2");
  EXPECT_EQ(nameOf(*groups[0].outputs[1]), "T3");
}

// A program of `count` ops that read earlier results at random, one in ten a product.
std::unique_ptr<Fusion> randomProgram(uint32_t seed, int count) {
  std::mt19937 random(seed);
  std::string body;
  const int reach = 1 + static_cast<int>(random() % 20);
  for (int i = 1; i <= count; ++i) {
    const auto operand = [&] {
      return "T" + std::to_string(std::max(0, i - 1 - static_cast<int>(random() % static_cast<uint32_t>(reach))));
    };
    const uint32_t kind = random() % 10;
    const std::string a = operand();
    body += "  T" + std::to_string(i) + " = ";
    body += kind == 0   ? "matmul(" + a + ", " + operand() + ")\n"
            : kind <= 3 ? "exp(" + a + ")\n"
            : kind == 4 ? "neg(" + a + ")\n"
                        : "add(" + a + ", " + operand() + ")\n";
  }
  return fusionFrom("fusion f(T0: f32[8, 8]) -> T" + std::to_string(count) + " {\n" + body + "}\n");
}

int negations(const SegmentedGroup& group) {
  return static_cast<int>(std::ranges::count_if(group.exprs, [](const Expr* expr) {
    return expr->is<PointwiseOp>() && expr->as<PointwiseOp>()->function == FunctionId::neg;
  }));
}

// Rules of which each refuses what contains something refused.
std::vector<MergeRules> somePredicates() {
  const auto joinsFreely = [](const Expr& expr) { return expr.is<PointwiseOp>(); };
  std::vector<MergeRules> rules = {anythingGoes(), atMost(2), atMost(7), atMost(40)};
  for (const size_t most : {2, 7, 40}) {
    rules.push_back(atMost(most));
    rules.back().is_rarely_refused = joinsFreely;
  }
  for (const int most : {0, 1, 3}) {
    rules.push_back(
        {.stays_alone = isLibrary,
         .may_be_group =
             [most](const SegmentedGroup& group) { return group.exprs.size() == 1 || negations(group) <= most; },
         .is_rarely_refused = joinsFreely});
  }
  return rules;
}

void expectLegal(const Fusion& fusion, const std::vector<SegmentedGroup>& groups, const MergeRules& rules) {
  std::set<const Expr*> done;
  for (const SegmentedGroup& group : groups) {
    if (group.exprs.size() > 1) {
      EXPECT_TRUE(rules.may_be_group(group));
      EXPECT_TRUE(std::ranges::none_of(group.exprs, [&](const Expr* expr) { return rules.stays_alone(*expr); }));
    }
    for (const TensorView* input : group.inputs)
      EXPECT_TRUE(input->definition() == nullptr || done.contains(input->definition())) << nameOf(*input);
    for (const Expr* expr : group.exprs) EXPECT_TRUE(done.insert(expr).second);
  }
  EXPECT_EQ(done.size(), fusion.exprs().size());
}

TEST(Segmenter, GroupsAreAcceptedAndInOrderAndHoldEachOpOnce) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const auto fusion = randomProgram(seed, 5 + static_cast<int>(seed) * 3);
    for (const MergeRules& rules : somePredicates()) expectLegal(*fusion, segment(*fusion, rules), rules);
  }
}

// Pairs of values are added until one is left: groups join from both sides.
std::unique_ptr<Fusion> tree(int leaves) {
  std::string body;
  std::vector<int> values;
  int last = 0;
  const auto define = [&](const std::string& call) {
    body += "  T" + std::to_string(++last) + " = " + call + "\n";
    values.push_back(last);
  };
  for (int i = 0; i < leaves; ++i) define("mul(T0, " + std::to_string(i) + ".5)");
  for (size_t next = 0; next + 1 < values.size(); next += 2)
    define("add(T" + std::to_string(values[next]) + ", T" + std::to_string(values[next + 1]) + ")");
  return fusionFrom("fusion f(T0: f32[8]) -> T" + std::to_string(last) + " {\n" + body + "}\n");
}

TEST(Segmenter, GroupsOfTreesAreInOrderHoweverLargeTheyMayBe) {
  for (const int leaves : {9, 33, 100, 350}) {
    const auto fusion = tree(leaves);
    for (const size_t most : {2, 5, 10, 30, 100, 250}) {
      MergeRules rules = atMost(most);
      expectLegal(*fusion, segment(*fusion, rules), rules);
      rules.is_rarely_refused = [](const Expr& expr) { return expr.is<PointwiseOp>(); };
      expectLegal(*fusion, segment(*fusion, rules), rules);
    }
  }
}

TEST(Segmenter, TheSameProgramIsCutTheSameWay) {
  for (const MergeRules& rules : somePredicates())
    EXPECT_EQ(namesOf(segment(*randomProgram(7, 120), rules)), namesOf(segment(*randomProgram(7, 120), rules)));
}

// Merging pairs of groups, each after a question, until nothing more may be merged: the plain way.
size_t groupsByPairs(const Fusion& fusion, const MergeRules& rules) {
  const std::vector<Expr*> exprs = fusion.exprs();
  std::map<const Expr*, int> group_of;
  for (size_t i = 0; i < exprs.size(); ++i) group_of[exprs[i]] = static_cast<int>(i);
  const auto membersOf = [&](int group) {
    SegmentedGroup members;
    std::ranges::copy_if(exprs, std::back_inserter(members.exprs), [&](Expr* expr) { return group_of[expr] == group; });
    return members;
  };
  const auto producersOf = [&](int group) {
    std::vector<int> producers;
    for (const Expr* expr : membersOf(group).exprs) {
      for (const Val* input : expr->inputs()) {
        if (input->definition() == nullptr) continue;
        const int producer = group_of[input->definition()];
        if (producer != group && std::ranges::find(producers, producer) == producers.end())
          producers.push_back(producer);
      }
    }
    return producers;
  };
  const auto reaches = [&](int from, int target) {
    std::vector<int> pending = {from};
    std::set<int> seen = {from};
    while (!pending.empty()) {
      const int group = pending.back();
      pending.pop_back();
      if (group == target) return true;
      for (const int producer : producersOf(group)) {
        if (seen.insert(producer).second) pending.push_back(producer);
      }
    }
    return false;
  };
  const auto mayMerge = [&](int producer, int consumer) {
    SegmentedGroup both = membersOf(producer);
    std::ranges::copy(membersOf(consumer).exprs, std::back_inserter(both.exprs));
    if (std::ranges::any_of(both.exprs, [&](const Expr* expr) { return rules.stays_alone(*expr); })) return false;
    const std::vector<int> producers = producersOf(consumer);
    return rules.may_be_group(both) &&
           std::ranges::none_of(producers, [&](int other) { return other != producer && reaches(other, producer); });
  };
  for (size_t consumer = 0; consumer < exprs.size(); ++consumer) {
    for (bool has_merged = true; has_merged;) {
      has_merged = false;
      for (const int producer : producersOf(static_cast<int>(consumer))) {
        if (!mayMerge(producer, static_cast<int>(consumer))) continue;
        for (auto& [expr, group] : group_of) {
          if (group == producer) group = static_cast<int>(consumer);
        }
        has_merged = true;
        break;
      }
    }
  }
  std::set<int> groups;
  for (const auto& [expr, group] : group_of) groups.insert(group);
  return groups.size();
}

TEST(Segmenter, GroupsAreAboutAsFewAsWithAQuestionForEveryPair) {
  size_t ours = 0;
  size_t plain = 0;
  for (uint32_t seed = 100; seed < 130; ++seed) {
    const auto fusion = randomProgram(seed, 40);
    for (const MergeRules& rules : somePredicates()) {
      ours += segment(*fusion, rules).size();
      plain += groupsByPairs(*fusion, rules);
    }
  }
  RecordProperty("ours", static_cast<int>(ours));
  RecordProperty("plain", static_cast<int>(plain));
  EXPECT_LE(ours, plain + plain / 50) << ours << " groups, and " << plain << " in the plain way";
}

TEST(Segmenter, TheQuestionsTogetherAreNotMuchLargerThanTheProgram) {
  for (const int count : {250, 500, 1000, 2000}) {
    std::string body;
    for (int i = 1; i <= count; ++i)
      body += "  T" + std::to_string(i) + (i % 5 == 0 ? " = exp(T" : " = neg(T") + std::to_string(i - 1) + ")\n";
    const auto fusion = fusionFrom("fusion f(T0: f32[8]) -> T" + std::to_string(count) + " {\n" + body + "}\n");
    for (int variant = 0; variant < 6; ++variant) {
      MergeRules rules = variant / 2 == 0 ? anythingGoes() : variant / 2 == 1 ? atMost(5) : atMost(100);
      // Whoever says so is not asked about pairs.
      if (variant % 2 == 1) rules.is_rarely_refused = [](const Expr& expr) { return expr.is<PointwiseOp>(); };
      size_t asked = 0;
      const auto answer = rules.may_be_group;
      rules.may_be_group = [&](const SegmentedGroup& group) {
        asked += group.exprs.size();
        return answer(group);
      };
      static_cast<void>(segment(*fusion, rules));
      EXPECT_LE(asked, static_cast<size_t>(count) * 20) << count << " ops, variant " << variant;
    }
  }
}

}  // namespace
}  // namespace tokamak
