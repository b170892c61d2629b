// Applies a rule to a scalar: matching, proof of the conditions, making of the result.
#include <algorithm>

#include "symbolic/scalar_arena.h"
#include "symbolic/scalar_rules.h"

namespace tokamak {

namespace {

bool canStandFor(RuleVariable variable, const Scalar& scalar) {
  switch (variable) {
    case RuleVariable::Integer: return scalar.dtype() == DataType::I64;
    case RuleVariable::IntegerConstant: return scalar.dtype() == DataType::I64 && scalar.isConstant();
    case RuleVariable::Truth: return scalar.dtype() == DataType::Bool;
    case RuleVariable::Any: return true;
  }
  return false;
}

// Conditions and results are given by the rule; a failure of constant arithmetic means that the rule does not apply.
struct Application {
  const ScalarRule& rule;
  ScalarArena& arena;
  IntervalAnalysis& analysis;
  const ScalarMaker& make;
  RuleBindings bindings{};

  bool matches(const RuleExpr& pattern, Scalar* scalar) {
    if (pattern.kind == RuleExpr::Kind::Literal) {
      const bool has_type = scalar->dtype() == DataType::I64 || scalar->dtype() == DataType::Bool;
      return has_type && scalar->isConstant() && scalar->value() == pattern.literal;
    }
    if (pattern.kind == RuleExpr::Kind::Operation) {
      return scalar->op() == pattern.op && matchOperands(pattern, scalar->operands());
    }
    Scalar*& bound = bindings[pattern.variable];
    if (bound != nullptr) return bound == scalar;
    if (!canStandFor(rule.variables[pattern.variable], *scalar)) return false;
    bound = scalar;
    return true;
  }

  bool matchOperands(const RuleExpr& pattern, std::span<Scalar* const> operands) {
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!matches(pattern.operands[i], operands[i])) return false;
    }
    return true;
  }

  bool isConstant(const RuleExpr& expr) const {
    if (expr.kind == RuleExpr::Kind::Literal) return true;
    if (expr.kind == RuleExpr::Kind::Variable) return rule.variables[expr.variable] == RuleVariable::IntegerConstant;
    return std::ranges::all_of(expr.operands, [&](const RuleExpr& operand) { return isConstant(operand); });
  }

  std::optional<ScalarValue> constantOf(const RuleExpr& expr) const {
    if (expr.kind == RuleExpr::Kind::Literal) return expr.literal;
    if (expr.kind == RuleExpr::Kind::Variable) return bindings[expr.variable]->value();
    const auto a = constantOf(expr.operands[0]);
    const auto b = constantOf(expr.operands[1]);
    return a && b ? applyChecked(expr.op, asInt(*a), asInt(*b)) : std::nullopt;
  }

  std::optional<Interval> intervalOf(const RuleExpr& expr) {
    if (isConstant(expr)) {
      const auto value = constantOf(expr);
      return value ? std::optional(Interval::exactly(asInt(*value))) : std::nullopt;
    }
    if (expr.kind == RuleExpr::Kind::Variable) return analysis.of(*bindings[expr.variable]);
    const auto a = intervalOf(expr.operands[0]);
    const auto b = intervalOf(expr.operands[1]);
    return a && b ? std::optional(apply(expr.op, *a, *b)) : std::nullopt;
  }

  // Two variables are compared by their difference, everything else by intervals.
  bool holds(const RuleExpr& condition) {
    const RuleExpr& left = condition.operands[0];
    const RuleExpr& right = condition.operands[1];
    if (left.kind == RuleExpr::Kind::Variable && right.kind == RuleExpr::Kind::Variable && !isConstant(condition)) {
      Scalar& a = *bindings[left.variable];
      Scalar& b = *bindings[right.variable];
      switch (condition.op) {
        case ScalarOp::Less: return analysis.isProvablyLess(a, b);
        case ScalarOp::LessEqual: return analysis.isProvablyLessOrEqual(a, b);
        case ScalarOp::Equal: return analysis.isProvablyEqual(a, b);
        default: return analysis.isProvablyDifferent(a, b);
      }
    }
    const auto interval = intervalOf(condition);
    return interval && !interval->contains(0);
  }

  Scalar* build(const RuleExpr& expr) {
    if (isConstant(expr)) {
      const auto value = constantOf(expr);
      if (!value) return nullptr;
      return arena.constant(*value, std::holds_alternative<bool>(*value) ? DataType::Bool : DataType::I64);
    }
    if (expr.kind == RuleExpr::Kind::Variable) return bindings[expr.variable];
    Scalar* operands[3] = {};
    for (size_t i = 0; i < expr.operands.size(); ++i) {
      operands[i] = build(expr.operands[i]);
      if (operands[i] == nullptr) return nullptr;
    }
    const bool chooses = expr.op == ScalarOp::Select;
    const DataType dtype = chooses                      ? promoteTypes(operands[1]->dtype(), operands[2]->dtype())
                           : expr.op >= ScalarOp::Equal ? DataType::Bool
                                                        : DataType::I64;
    return make(expr.op, dtype, {operands, expr.operands.size()});
  }
};

}  // namespace

Scalar* applyRule(const ScalarRule& rule, ScalarArena& arena, std::span<Scalar* const> operands,
                  IntervalAnalysis& analysis, const ScalarMaker& make) {
  for (const RuleExpr& variant : rule.variants) {
    Application application{rule, arena, analysis, make};
    if (!application.matchOperands(variant, operands)) continue;
    const auto holds = [&](const RuleExpr& condition) { return application.holds(condition); };
    if (!std::ranges::all_of(rule.conditions, holds)) continue;
    if (Scalar* result = application.build(rule.result)) return result;
  }
  return nullptr;
}

Scalar* buildRuleExpr(const RuleExpr& expr, ScalarArena& arena, const RuleBindings& bindings) {
  if (expr.kind == RuleExpr::Kind::Variable) return bindings[expr.variable];
  if (expr.kind == RuleExpr::Kind::Literal) {
    return arena.constant(expr.literal, std::holds_alternative<bool>(expr.literal) ? DataType::Bool : DataType::I64);
  }
  std::vector<Scalar*> operands;
  for (const RuleExpr& operand : expr.operands) operands.push_back(buildRuleExpr(operand, arena, bindings));
  const DataType dtype = expr.op == ScalarOp::Select  ? operands[1]->dtype()
                         : expr.op >= ScalarOp::Equal ? DataType::Bool
                                                      : DataType::I64;
  return arena.rawScalar(expr.op, dtype, operands);
}

}  // namespace tokamak
