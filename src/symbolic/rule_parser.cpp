// Reads the lines of the rule table: an expression grammar of C's operators and precedences.
#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/require.h"
#include "symbolic/scalar_rules.h"

namespace tokamak {

namespace {

struct Infix {
  std::string_view symbol;
  int precedence;
  ScalarOp op;
  bool is_exchanged;  // a > b is b < a
};

// Longer symbols first.
constexpr Infix kInfixes[] = {
    {"||", 1, ScalarOp::Or, false},       {"&&", 2, ScalarOp::And, false},       {"==", 3, ScalarOp::Equal, false},
    {"!=", 3, ScalarOp::NotEqual, false}, {"<=", 4, ScalarOp::LessEqual, false}, {">=", 4, ScalarOp::LessEqual, true},
    {"<", 4, ScalarOp::Less, false},      {">", 4, ScalarOp::Less, true},        {"+", 5, ScalarOp::Add, false},
    {"-", 5, ScalarOp::Sub, false},       {"*", 6, ScalarOp::Mul, false},        {"/", 6, ScalarOp::FloorDiv, false},
    {"%", 6, ScalarOp::Mod, false},
};

struct Call {
  std::string_view name;
  ScalarOp op;
  size_t arity;
};
constexpr Call kRuleCalls[] = {{"min", ScalarOp::Min, 2},
                               {"max", ScalarOp::Max, 2},
                               {"ceilDiv", ScalarOp::CeilDiv, 2},
                               {"where", ScalarOp::Select, 3}};

RuleVariable variableOf(std::string_view name) {
  if (name.size() == 2 && name[0] == 'c') return RuleVariable::IntegerConstant;
  if (name >= "p" && name <= "r") return RuleVariable::Truth;
  return name >= "x" ? RuleVariable::Any : RuleVariable::Integer;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  ScalarRule parse() {
    rule_.text = text_;
    rule_.pattern = expression(0);
    expect("->");
    rule_.result = expression(0);
    if (accept("if")) {
      // Each conjunct is proved on its own.
      do rule_.conditions.push_back(expression(3));
      while (accept("&&"));
    }
    TK_CHECK(next() == '\0', "rule '{}': unexpected text at column {}", text_, position_ + 1);
    TK_CHECK(names_.size() <= kMostRuleVariables, "rule '{}': more than {} variables", text_, kMostRuleVariables);
    return std::move(rule_);
  }

 private:
  char next() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
    return position_ < text_.size() ? text_[position_] : '\0';
  }
  bool accept(std::string_view token) {
    next();
    if (!text_.substr(position_).starts_with(token)) return false;
    position_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    TK_CHECK(accept(token), "rule '{}': expected '{}' at column {}", text_, token, position_ + 1);
  }

  static RuleExpr operation(ScalarOp op, std::vector<RuleExpr> operands) {
    RuleExpr expr;
    expr.kind = RuleExpr::Kind::Operation;
    expr.op = op;
    expr.operands = std::move(operands);
    return expr;
  }
  static RuleExpr literal(ScalarValue value) {
    RuleExpr expr;
    expr.literal = value;
    return expr;
  }

  const Infix* infixAtLeast(int precedence) {
    next();
    const std::string_view rest = text_.substr(position_);
    if (rest.starts_with("->")) return nullptr;
    for (const Infix& infix : kInfixes) {
      if (rest.starts_with(infix.symbol)) return infix.precedence >= precedence ? &infix : nullptr;
    }
    return nullptr;
  }

  RuleExpr expression(int precedence) {
    RuleExpr left = operand();
    while (const Infix* infix = infixAtLeast(precedence)) {
      position_ += infix->symbol.size();
      RuleExpr right = expression(infix->precedence + 1);
      if (infix->is_exchanged) std::swap(left, right);
      left = operation(infix->op, {std::move(left), std::move(right)});
    }
    return left;
  }

  RuleExpr operand() {
    if (accept("!")) return operation(ScalarOp::Not, {operand()});
    if (accept("(")) {
      RuleExpr inner = expression(0);
      expect(")");
      return inner;
    }
    const size_t start = position_;
    const bool is_number = std::isdigit(static_cast<unsigned char>(next())) != 0 || next() == '-';
    if (next() == '-') ++position_;
    while (position_ < text_.size() && std::isalnum(static_cast<unsigned char>(text_[position_])) != 0) ++position_;
    const std::string word(text_.substr(start, position_ - start));
    TK_CHECK(!word.empty() && word != "-", "rule '{}': expected an operand at column {}", text_, start + 1);
    if (is_number) return literal(int64_t{std::stoll(word)});
    if (word == "true" || word == "false") return literal(word == "true");
    const auto* call = std::ranges::find(kRuleCalls, word, &Call::name);
    return call == std::end(kRuleCalls) ? variable(word) : arguments(*call);
  }

  RuleExpr arguments(const Call& call) {
    std::vector<RuleExpr> operands;
    for (size_t i = 0; i < call.arity; ++i) {
      expect(i == 0 ? "(" : ",");
      operands.push_back(expression(0));
    }
    expect(")");
    return operation(call.op, std::move(operands));
  }

  RuleExpr variable(const std::string& name) {
    RuleExpr expr;
    expr.kind = RuleExpr::Kind::Variable;
    const auto found = std::ranges::find(names_, name);
    expr.variable = static_cast<size_t>(found - names_.begin());
    if (found == names_.end()) {
      names_.push_back(name);
      rule_.variables.push_back(variableOf(name));
    }
    return expr;
  }

  std::string_view text_;
  size_t position_ = 0;
  std::vector<std::string> names_;
  ScalarRule rule_;
};

// All orders of commutative operands. Canonical scalars have constants last, so no other place is tried for them.
std::vector<RuleExpr> variantsOf(const RuleExpr& expr, const ScalarRule& rule) {
  if (expr.kind != RuleExpr::Kind::Operation) return {expr};
  std::vector<RuleExpr> variants = {expr};
  for (size_t i = 0; i < expr.operands.size(); ++i) {
    std::vector<RuleExpr> grown;
    for (const RuleExpr& operand : variantsOf(expr.operands[i], rule)) {
      for (RuleExpr variant : variants) {
        variant.operands[i] = operand;
        grown.push_back(std::move(variant));
      }
    }
    variants = std::move(grown);
  }
  const auto isConstant = [&](const RuleExpr& operand) {
    return operand.kind == RuleExpr::Kind::Literal ||
           (operand.kind == RuleExpr::Kind::Variable &&
            rule.variables[operand.variable] == RuleVariable::IntegerConstant);
  };
  if (!isCommutative(expr.op) || isConstant(expr.operands[1])) return variants;
  for (size_t i = 0, count = variants.size(); i < count; ++i) {
    RuleExpr exchanged = variants[i];
    std::swap(exchanged.operands[0], exchanged.operands[1]);
    variants.push_back(std::move(exchanged));
  }
  return variants;
}

}  // namespace

bool isCommutative(ScalarOp op) {
  switch (op) {
    case ScalarOp::Add:
    case ScalarOp::Mul:
    case ScalarOp::Min:
    case ScalarOp::Max:
    case ScalarOp::Equal:
    case ScalarOp::NotEqual:
    case ScalarOp::And:
    case ScalarOp::Or: return true;
    default: return false;
  }
}

ScalarRule parseScalarRule(std::string_view text) {
  ScalarRule rule = Parser(text).parse();
  rule.variants = variantsOf(rule.pattern, rule);
  return rule;
}

}  // namespace tokamak
