#include "symbolic/scalar_rules.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/clone.h"
#include "symbolic/scalar_simplifier.h"
#include "unit/symbolic/random_scalars.h"
#include "unit/symbolic/rule_prover.h"

namespace tokamak {
namespace {

using test::findCounterexample;
using test::ProofCounts;
using test::RandomScalars;
using test::valueOf;
using test::Values;

// Of each rule.
const int64_t kWideCases = test::caseCount(100'000);

TEST(ScalarRules, EveryRuleKeepsTheValue) {
  std::mt19937_64 random(1);
  for (const ScalarRule& rule : scalarRules()) {
    ProofCounts counts;
    EXPECT_EQ(findCounterexample(rule, kWideCases, random, counts), "");
    EXPECT_GT(counts.small_cases, 0) << rule.text << ": no value in [-8, 8] meets its conditions";
    EXPECT_GE(counts.wide_cases, kWideCases) << rule.text;
  }
}

TEST(ScalarRules, AWrongRuleIsCaught) {
  constexpr const char* kWrong[] = {
      "a / c0 * c0 -> a if c0 > 0",
      "(a + b) / c0 -> a / c0 + b / c0 if c0 > 0",
      "a * c0 / c1 -> a / (c1 / c0)",
      "a % c0 % c1 -> a % c1",
      "a < b -> a <= b",
      "min(a * c0, b * c0) -> min(a, b) * c0",
      "p && (p || q) -> q",
      "where(p, x, y) -> where(!p, x, y)",
      // Wrong only where 64 bits end.
      "ceilDiv(a, b) -> (a + b - 1) / b",
      "a < b -> a - b < 0",
      "(a % c0 + b) % c0 -> (a + b) % c0",
      "a / c < b -> a < b * c",
      "a / b / c -> a / (b * c)",
  };
  std::mt19937_64 random(2);
  for (const char* text : kWrong) {
    ProofCounts counts;
    EXPECT_NE(findCounterexample(parseScalarRule(text), kWideCases, random, counts), "") << text;
  }
}

TEST(ScalarRules, ALineThatIsNoRuleNamesItsColumn) {
  for (const char* text : {"a + -> a", "a -> a a", "min(a -> a", "a ~ b -> a", "a + b"}) {
    try {
      static_cast<void>(parseScalarRule(text));
      ADD_FAILURE() << text << " was read";
    } catch (const Error& error) {
      EXPECT_NE(error.message().find("at column"), std::string::npos) << error.message();
    }
  }
}

size_t nodesOf(const RuleExpr& expr, const ScalarRule& rule) {
  const auto isConstant = [&](const auto& self, const RuleExpr& e) -> bool {
    if (e.kind == RuleExpr::Kind::Variable) return rule.variables[e.variable] == RuleVariable::IntegerConstant;
    return std::ranges::all_of(e.operands, [&](const RuleExpr& operand) { return self(self, operand); });
  };
  if (isConstant(isConstant, expr)) return 1;
  size_t nodes = 1;
  for (const RuleExpr& operand : expr.operands) nodes += nodesOf(operand, rule);
  return nodes;
}

// What a result mentions, the pattern mentions at least as often: no instance of a rule makes a scalar larger.
TEST(ScalarRules, NoResultIsLargerThanItsPattern) {
  for (const ScalarRule& rule : scalarRules()) {
    EXPECT_LE(nodesOf(rule.result, rule), nodesOf(rule.pattern, rule)) << rule.text;
    for (size_t variable = 0; variable < rule.variables.size(); ++variable) {
      const auto mentions = [&](const auto& self, const RuleExpr& expr) -> int {
        int count = static_cast<int>(expr.kind == RuleExpr::Kind::Variable && expr.variable == variable);
        for (const RuleExpr& operand : expr.operands) count += self(self, operand);
        return count;
      };
      const int in_pattern = mentions(mentions, rule.pattern);
      EXPECT_GT(in_pattern, 0) << rule.text << ": the result or a condition has a variable that the pattern lacks";
      if (rule.variables[variable] != RuleVariable::IntegerConstant) {
        EXPECT_LE(mentions(mentions, rule.result), in_pattern) << rule.text;
      }
    }
  }
}

// Two fusions with the same symbols, so that what the first one remembers of a scalar does not help with its copy.
struct Copier {
  Copier(const RandomScalars& from, const RandomScalars& to, Fusion& target) : cloner(target) {
    for (size_t i = 0; i < from.integers().size(); ++i) cloner.substitute(from.integers()[i], to.integers()[i]);
    for (size_t i = 0; i < from.truths().size(); ++i) cloner.substitute(from.truths()[i], to.truths()[i]);
  }
  Cloner cloner;
};

TEST(ScalarSimplifier, KeepsTheValueIsIdempotentAndNeverGrows) {
  std::mt19937_64 random(3);
  const int64_t cases = test::caseCount(100'000);
  int64_t smaller = 0, compared = 0, reordered_overflows = 0;
  for (int64_t done = 0; done < cases;) {
    Fusion fusion, second;
    RandomScalars scalars(fusion, random), copies(second, random);
    Copier copier(scalars, copies, second);
    for (int i = 0; i < 100; ++i, ++done) {
      const int depth = 1 + static_cast<int>(scalars.below(5));
      Scalar* scalar = i % 4 == 0 ? scalars.truth(depth) : scalars.integer(depth);
      Scalar* simple = simplify(scalar);
      ASSERT_LE(simple->weight(), scalar->weight()) << toString(*scalar) << " became " << toString(*simple);
      ASSERT_EQ(simple->dtype(), scalar->dtype()) << toString(*scalar);
      smaller += static_cast<int64_t>(simple->size() < scalar->size());
      Scalar* copy = copier.cloner.clone(simple);
      ASSERT_EQ(simplify(copy), copy) << toString(*scalar) << " became " << toString(*simple) << " and then "
                                      << toString(*simplify(copy));
      for (int binding = 0; binding < 6; ++binding) {
        const bool is_small = binding < 4;
        const Values values = scalars.values([&] { return is_small ? scalars.smallValue() : scalars.wideValue(); });
        const auto before = valueOf(*scalar, values);
        if (!before) continue;
        const auto after = valueOf(*simple, values);
        ++compared;
        if (!after)
          ++reordered_overflows;
        else
          ASSERT_EQ(*before, *after) << toString(*scalar) << " became " << toString(*simple);
      }
    }
  }
  EXPECT_GT(smaller, cases / 3);
  EXPECT_GT(compared, cases);
  // Adding up in another order may overflow where the given order did not; only values near the ends of 64 bits do.
  EXPECT_LT(reordered_overflows, compared / 100);
  RecordProperty("compared", std::to_string(compared));
  RecordProperty("reordered_overflows", std::to_string(reordered_overflows));
  RecordProperty("smaller", std::to_string(smaller));
}

// One line: what is written, what becomes of it.
struct Case {
  const char* text;
  const char* simple;
};

// Reads a scalar in the rules' language: a to d are extents in order of creation.
class Reader {
 public:
  Reader() {
    for (const char* name : {"a", "b", "c", "d", "p", "q"}) {
      symbols_[name] = fusion_.symbol(name, *name >= 'p' ? DataType::Bool : DataType::I64);
    }
  }
  Fusion& fusion() { return fusion_; }
  Scalar* operator[](const std::string& name) { return symbols_.at(name); }
  Scalar* read(const std::string& text) {
    const ScalarRule rule = parseScalarRule(fmt::format("{} -> 0", text));
    RuleBindings bindings{};
    size_t next = 0;
    // Variables are numbered by first appearance.
    for (size_t i = 0; i < text.size(); ++i) {
      const bool stands_alone = (i == 0 || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0) &&
                                (i + 1 == text.size() || std::isalnum(static_cast<unsigned char>(text[i + 1])) == 0);
      const auto found = symbols_.find(std::string(1, text[i]));
      if (!stands_alone || found == symbols_.end()) continue;
      if (std::ranges::find(bindings, found->second) == bindings.end()) bindings[next++] = found->second;
    }
    return buildRuleExpr(rule.pattern, fusion_, bindings);
  }

 private:
  Fusion fusion_;
  std::map<std::string, Scalar*> symbols_;
};

constexpr Case kCases[] = {
    {"a * b", "( a * b )"},
    {"b * a", "( a * b )"},
    {"8 * a", "( a * 8 )"},
    {"c * (b * a)", "( ( a * b ) * c )"},
    {"b + a + 3 - c", "( ( ( a + b ) - c ) + 3 )"},
    {"a + b - b", "a"},
    {"a * 2 + a * 3", "( a * 5 )"},
    {"a * 4 + b * 4", "( ( a + b ) * 4 )"},
    {"(a + b) * 2 - b * 2", "( a * 2 )"},
    {"0 - (a - b)", "( b - a )"},
    {"a * 8 / 4", "( a * 2 )"},
    {"a * 4 / 8", "( a / 2 )"},
    {"(a * 4 + 3) % 4", "3"},
    {"(a * 4 + 3) / 4", "a"},
    {"(a * 8 + b * 4 + c) / 4", "( ( ( a * 2 ) + b ) + ( c / 4 ) )"},
    {"(a * b + c) % b", "( c % b )"},
    {"(c + a * b + d * b) / b", "( ( a + ( c / b ) ) + d )"},
    {"(b + c) / b", "( ( b + c ) / b )"},
    {"a / 4 * 4 + a % 4", "a"},
    {"a - a / 4 * 4", "( a % 4 )"},
    {"(a * 64 + b) / 8 * 8 + b % 8", "( ( a * 64 ) + b )"},
    {"b + a % 4 * 3 + c + a / 4 * 12", "( ( ( a * 3 ) + b ) + c )"},
    {"a / 2 / 3", "( a / 6 )"},
    {"(a + 3) / 4", "( ceilDiv(a, 4) )"},
    {"ceilDiv(a * 4, 4)", "a"},
    {"ceilDiv(ceilDiv(a, 2), 4)", "( ceilDiv(a, 8) )"},
    {"a % 4 / 2", "( ( a / 2 ) % 2 )"},
    {"a % 4 < 4", "true"},
    {"a % 4 / 4", "0"},
    {"min(a + 3, a + 5)", "( a + 3 )"},
    {"max(a % 8, 7)", "7"},
    {"a + 3 < b + 3", "( a < b )"},
    {"a + b < b + 4", "( a < 4 )"},
    {"a * 4 < 10", "( a < 3 )"},
    {"a == a + 1", "false"},
    {"a * 2 == b * 2 + 1", "false"},
    {"!(a < b) && !(p && false)", "( b <= a )"},
    {"where(a < b, a, b)", "( min(a, b) )"},
    {"a < 5 && a < 3", "( a < 3 )"},
    // Nothing is known of symbols, and nothing may overflow.
    {"a % 8", "( a % 8 )"},
    {"9223372036854775807 + 1", "( 9223372036854775807 + 1 )"},
    {"a * 9223372036854775807 + a * 2", "( ( a * 9223372036854775807 ) + ( a * 2 ) )"},
    {"a / 0", "( a / 0 )"},
    {"a / 4 * 4", "( ( a / 4 ) * 4 )"},
};

TEST(ScalarSimplifier, GivesTheCanonicalForm) {
  for (const Case& row : kCases) {
    Reader reader;
    EXPECT_EQ(toString(*simplify(reader.read(row.text))), row.simple) << row.text;
  }
}

// Its negation has no value, and the simplifier makes none; the sanitizer would tell.
TEST(ScalarSimplifier, TheLowestNumberIsNotNegated) {
  Fusion fusion;
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  Scalar* zero = fusion.constant(0);
  Scalar* negated = fusion.scalar(ScalarOp::Sub, zero, fusion.constant(kLowest));
  Scalar* twice = fusion.scalar(ScalarOp::Sub, zero, negated);
  EXPECT_EQ(valueOf(*twice, {}).value_or(kLowest), kLowest);
  Scalar* i = fusion.symbol("i");
  EXPECT_EQ(valueOf(*fusion.scalar(ScalarOp::Add, i, fusion.constant(kLowest)), {{i, 5}}), kLowest + 5);
}

TEST(ScalarSimplifier, UsesWhatIsAssumed) {
  Reader reader;
  IntervalAnalysis analysis;
  analysis.assumeIndex(*reader["a"], *reader["b"]);
  analysis.assume(*reader["b"], Interval::atLeast(0));
  analysis.assume(*reader["c"], Interval::between(0, 7));
  EXPECT_EQ(toString(*simplify(reader.read("(a * 8 + c) / 8"), analysis)), "a");
  EXPECT_EQ(toString(*simplify(reader.read("a % b"), analysis)), "a");
  EXPECT_EQ(toString(*simplify(reader.read("a * 8 + c < b * 8"), analysis)), "true");
  EXPECT_EQ(toString(*simplify(reader.read("min(a, b)"), analysis)), "a");
  EXPECT_EQ(toString(*simplify(reader.read("max(b, 0)"), analysis)), "b");
  EXPECT_EQ(toString(*simplify(reader.read("a % b"))), "( a % b )") << "what is assumed once is not assumed for ever";
}

TEST(ScalarSimplifier, LeavesFloatingScalarsAndTypesAlone) {
  Fusion fusion;
  Scalar* x = fusion.symbol("f0", DataType::F32);
  Scalar* y = fusion.symbol("i0", DataType::I32);
  EXPECT_EQ(fusion.sub(x, x)->op(), ScalarOp::Sub) << "infinity minus infinity is NaN";
  EXPECT_EQ(fusion.mul(x, fusion.constant(0))->dtype(), DataType::F32);
  EXPECT_EQ(fusion.add(y, fusion.constant(0))->dtype(), DataType::I64);
}

TEST(ScalarSimplifier, AThousandExtentsAreFast) {
  const auto start = std::chrono::steady_clock::now();
  Fusion fusion;
  Scalar* n = fusion.symbol("i0");
  Scalar* m = fusion.symbol("i2");
  for (int64_t i = 1; i <= 1000; ++i) {
    Scalar* rows = fusion.ceilDiv(fusion.mul(n, fusion.constant(i)), fusion.constant(128));
    static_cast<void>(fusion.mul(fusion.mul(rows, fusion.constant(128)), fusion.add(m, fusion.constant(i))));
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  RecordProperty("microseconds_per_extent", std::to_string(spent.count() * 1e3));
  EXPECT_LT(spent.count(), 2.0);
}

TEST(ScalarSimplifier, ASumOfManyTermsEnds) {
  Fusion fusion;
  Scalar* sum = fusion.constant(0);
  std::vector<Scalar*> symbols;
  for (int i = 0; i < 300; ++i) symbols.push_back(fusion.symbol(fmt::format("i{}", i)));
  for (Scalar* symbol : symbols) sum = fusion.add(sum, fusion.ceilDiv(symbol, fusion.constant(4)));
  for (Scalar* symbol : symbols) sum = fusion.sub(sum, fusion.ceilDiv(symbol, fusion.constant(4)));
  EXPECT_EQ(sum, fusion.constant(0));
}

}  // namespace
}  // namespace tokamak
