#include "unit/symbolic/rule_prover.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/fusion.h"

namespace tokamak::test {
namespace {

using RuleValues = std::array<int64_t, kMostRuleVariables>;

// A rule's expression as a list of instructions on a stack; nothing is looked up while it runs.
class Program {
 public:
  explicit Program(const RuleExpr& expr) { compile(expr); }

  bool run(const RuleValues& values, int64_t& result) const {
    int64_t stack[32] = {};
    size_t top = 0;
    for (const Instruction& instruction : code_) {
      switch (instruction.kind) {
        case RuleExpr::Kind::Variable: stack[top++] = values[static_cast<size_t>(instruction.operand)]; continue;
        case RuleExpr::Kind::Literal: stack[top++] = instruction.operand; continue;
        case RuleExpr::Kind::Operation: break;
      }
      if (instruction.op == ScalarOp::Not) {
        stack[top - 1] = static_cast<int64_t>(stack[top - 1] == 0);
      } else if (instruction.op == ScalarOp::Select) {
        top -= 2;
        stack[top - 1] = stack[top - 1] != 0 ? stack[top] : stack[top + 1];
      } else {
        --top;
        const auto value = applyChecked(instruction.op, stack[top - 1], stack[top]);
        if (!value) return false;
        stack[top - 1] = std::holds_alternative<bool>(*value) ? static_cast<int64_t>(std::get<bool>(*value))
                                                              : std::get<int64_t>(*value);
      }
    }
    result = stack[0];
    return true;
  }

 private:
  struct Instruction {
    RuleExpr::Kind kind;
    ScalarOp op;
    int64_t operand;
  };

  void compile(const RuleExpr& expr) {
    for (const RuleExpr& operand : expr.operands) compile(operand);
    const int64_t operand =
        expr.kind == RuleExpr::Kind::Variable ? static_cast<int64_t>(expr.variable) : asInt(expr.literal);
    code_.push_back({expr.kind, expr.op, operand});
  }

  std::vector<Instruction> code_;
};

struct Prover {
  explicit Prover(const ScalarRule& proved) : rule(proved), pattern(proved.pattern), result(proved.result) {
    for (const RuleExpr& condition : rule.conditions) {
      conditions.emplace_back(condition);
      const RuleExpr& left = condition.operands[0];
      const bool is_equation = condition.op == ScalarOp::Equal && left.kind == RuleExpr::Kind::Variable;
      if (is_equation) equations.emplace_back(left.variable, Program(condition.operands[1]));
    }
    addConstantParts(rule.result);
  }

  bool isConstant(const RuleExpr& expr) const {
    if (expr.kind == RuleExpr::Kind::Variable) return rule.variables[expr.variable] == RuleVariable::IntegerConstant;
    return std::ranges::all_of(expr.operands, [&](const RuleExpr& operand) { return isConstant(operand); });
  }

  void addConstantParts(const RuleExpr& expr) {
    if (isConstant(expr))
      constant_parts.emplace_back(expr);
    else
      for (const RuleExpr& operand : expr.operands) addConstantParts(operand);
  }

  bool isSolved(size_t variable) const {
    return std::ranges::any_of(equations, [&](const auto& equation) { return equation.first == variable; });
  }

  // Chance would hardly meet a condition such as c1 == c0 * c2.
  void solveEquations(RuleValues& values) const {
    for (const auto& [variable, side] : equations) {
      int64_t value = 0;
      if (side.run(values, value)) values[variable] = value;
    }
  }

  // Whether the case counts; a counterexample is kept.
  bool check(const RuleValues& values) {
    int64_t before = 0, after = 0;
    for (const Program& condition : conditions) {
      if (!condition.run(values, before) || before == 0) return false;
    }
    for (const Program& part : constant_parts) {
      if (!part.run(values, before)) return false;
    }
    if (!pattern.run(values, before)) return false;
    const bool has_value = result.run(values, after);
    if (has_value && before == after) return true;
    counterexample = fmt::format("{}: with", rule.text);
    for (size_t i = 0; i < rule.variables.size(); ++i) counterexample += fmt::format(" {}", values[i]);
    counterexample += has_value ? fmt::format(" it turns {} into {}", before, after)
                                : fmt::format(" it turns {} into no value", before);
    return true;
  }

  const ScalarRule& rule;
  Program pattern;
  Program result;
  std::vector<Program> conditions;
  std::vector<Program> constant_parts;
  std::vector<std::pair<size_t, Program>> equations;
  std::string counterexample;
};

int64_t randomValue(std::mt19937_64& random, const RuleValues& earlier, size_t count) {
  switch (random() % 6) {
    case 0:
    case 1: return static_cast<int64_t>(random() % 17) - 8;
    case 2: return static_cast<int64_t>(random() % 2001) - 1000;
    case 3: return static_cast<int64_t>((uint64_t{1} << random() % 64) + random() % 3 - 1);
    case 4: {  // what conditions ask for: a multiple or a neighbour of another value, a product of two of them
      if (count == 0) return 0;
      const auto one = static_cast<uint64_t>(earlier[random() % count]);
      const auto other = static_cast<uint64_t>(earlier[random() % count]);
      const uint64_t choices[] = {one * (random() % 9), one + random() % 3 - 1, one * other, -(one * other), -one};
      return static_cast<int64_t>(choices[random() % std::size(choices)]);
    }
    default: return static_cast<int64_t>(random() >> random() % 64);
  }
}

}  // namespace

std::string findCounterexample(const ScalarRule& rule, int64_t wide_cases, std::mt19937_64& random,
                               ProofCounts& counts) {
  Prover prover(rule);
  const size_t count = rule.variables.size();
  RuleValues values{};
  const auto lowest = [&](size_t i) { return rule.variables[i] == RuleVariable::Truth ? int64_t{0} : int64_t{-8}; };
  const auto highest = [&](size_t i) { return rule.variables[i] == RuleVariable::Truth ? int64_t{1} : int64_t{8}; };
  std::vector<size_t> digits;  // the variables that no equation gives
  for (size_t i = 0; i < count; ++i) {
    values[i] = lowest(i);
    if (!prover.isSolved(i)) digits.push_back(i);
  }
  for (size_t digit = 0; digit < digits.size();) {
    prover.solveEquations(values);
    counts.small_cases += static_cast<int64_t>(prover.check(values));
    if (!prover.counterexample.empty()) return prover.counterexample;
    for (digit = 0; digit < digits.size() && values[digits[digit]] == highest(digits[digit]); ++digit)
      values[digits[digit]] = lowest(digits[digit]);
    if (digit < digits.size()) ++values[digits[digit]];
  }
  for (int64_t tried = 0; counts.wide_cases < wide_cases && tried < 100 * wide_cases; ++tried) {
    for (size_t i = 0; i < count; ++i) {
      const bool is_truth = rule.variables[i] == RuleVariable::Truth;
      values[i] = is_truth ? static_cast<int64_t>(random() % 2) : randomValue(random, values, i);
    }
    prover.solveEquations(values);
    counts.wide_cases += static_cast<int64_t>(prover.check(values));
    if (!prover.counterexample.empty()) return prover.counterexample;
  }
  return "";
}

}  // namespace tokamak::test
