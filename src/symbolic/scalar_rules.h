// The rewrite rules of the scalar simplifier: one line each, read once.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "symbolic/interval_analysis.h"
#include "symbolic/scalar.h"

namespace tokamak {

/// An expression of a rule's line. By its name a variable stands for: a b c d an integer; c0 c1 c2 an integer constant;
/// p q r a truth value; x y z any scalar.
struct RuleExpr {
  enum class Kind : uint8_t { Variable, Literal, Operation };
  Kind kind = Kind::Literal;
  ScalarOp op = ScalarOp::Constant;
  size_t variable = 0;  ///< its place among the rule's variables
  ScalarValue literal = int64_t{0};
  std::vector<RuleExpr> operands;
};

enum class RuleVariable : uint8_t { Integer, IntegerConstant, Truth, Any };

/// "pattern -> result if condition && condition": wherever the conditions hold, the pattern has a value and the
/// result's parts of constants alone have one, the result has the pattern's value: no rule adds an overflow. Conditions
/// are proved by IntervalAnalysis.
struct ScalarRule {
  std::string text;
  std::vector<RuleVariable> variables;
  RuleExpr pattern;
  RuleExpr result;
  std::vector<RuleExpr> conditions;
  /// The pattern in all orders of the operands of its commutative operations.
  std::vector<RuleExpr> variants;
};

/// Errors: Internal, naming the column, when the line is not a rule.
ScalarRule parseScalarRule(std::string_view text);

/// All rules, in the order in which they are tried; those of one outermost operation.
std::span<const ScalarRule> scalarRules();
std::span<const ScalarRule* const> scalarRulesFor(ScalarOp op);

/// Whether a rule's operation may exchange its operands.
bool isCommutative(ScalarOp op);

inline constexpr size_t kMostRuleVariables = 8;
/// What the rule's variables stand for.
using RuleBindings = std::array<Scalar*, kMostRuleVariables>;
/// Makes a scalar of the simplifier's operands.
using ScalarMaker = std::function<Scalar*(ScalarOp, DataType, std::span<Scalar* const>)>;

/// The result of the rule for an operation on these operands, made by `make`; null when the rule does not apply.
Scalar* applyRule(const ScalarRule& rule, ScalarArena& arena, std::span<Scalar* const> operands,
                  IntervalAnalysis& analysis, const ScalarMaker& make);

/// The raw scalar of a rule's expression, e.g. to prove the rule by evaluation.
Scalar* buildRuleExpr(const RuleExpr& expr, ScalarArena& arena, const RuleBindings& bindings);

}  // namespace tokamak
