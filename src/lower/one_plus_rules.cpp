#include "lower/one_plus_rules.h"

#include <map>
#include <utility>
#include <vector>

#include "kernel/kernel_walk.h"
#include "kernel/one_plus.h"
#include "kernel/rewrite.h"
#include "lower/predicate_folding.h"

namespace tokamak {

namespace {

using kir::Let;
using kir::StatementRef;
using kir::Statements;
using kir::Value;
using kir::ValueKind;
using kir::ValueRef;
using kir::Variable;

bool isFunctionOfF32(const Value& value) {
  return value.kind == ValueKind::Apply && value.dtype == DataType::F32 && kir::hasOnePlusFunction(value.function);
}

// The variable v if the value is v * v, or null.
const Variable* squared(const Value& value) {
  if (value.kind != ValueKind::Apply || value.function != FunctionId::mul || value.dtype != DataType::F32)
    return nullptr;
  const auto& operands = value.operands;
  const bool is_square = operands[0]->kind == ValueKind::Variable && operands[1]->kind == ValueKind::Variable &&
                         operands[0]->variable == operands[1]->variable;
  return is_square ? operands[0]->variable.get() : nullptr;
}

// The variable v if the value is 1 - v, or null.
const Variable* subtractedFromOne(const Value& value) {
  const bool is_difference = value.kind == ValueKind::Apply && value.function == FunctionId::sub &&
                             value.dtype == DataType::F32 && kir::isNumber(*value.operands[0], 1);
  return is_difference && value.operands[1]->kind == ValueKind::Variable ? value.operands[1]->variable.get() : nullptr;
}

class OneJoiner {
 public:
  explicit OneJoiner(const kir::Kernel& kernel) : fusion_(*kernel.fusion), new_values_(kernel) {
    collect(kernel.body);
    for (const Variable* variable : variables_) {
      if (!isUsedBesideOnesOnly(variable)) continue;
      facts_[variable].sum = new_values_.named(variable->name + "_and_1", DataType::F32);
      finds_any_ = true;
    }
  }

  bool findsAny() const { return finds_any_; }

  Statements rewrite(const Statements& statements) const {
    return kir::withOverrides(
        statements, [this](const Let& let) { return rewritten(let); },
        [this](const ValueRef& value) { return rewritten(value); });
  }

 private:
  StatementRef rewritten(Let let) const {
    let.value = rewritten(let.value);
    if (kir::VariableRef sum = sumOf(let.variable.get())) {
      let.value = kir::apply(FunctionId::add, DataType::F32, {let.value, number(1)});
      let.variable = std::move(sum);
    }
    return kir::statement(std::move(let));
  }

  // The definitions and uses of a variable. (Two loops may define the same variable.)
  struct Facts {
    int lets = 0;
    int functions = 0;               ///< definitions by erf or tanh
    int squares = 0;                 ///< definitions by the square of `root`
    const Variable* root = nullptr;  ///< of the last square
    int uses = 0;
    int one_plus = 0;      ///< uses in 1 + t
    int one_minus = 0;     ///< uses in 1 - t
    kir::VariableRef sum;  ///< the variable for t + 1, if t has no other use
  };

  void collect(const Statements& statements) {
    kir::visitStatements(statements, [&](const kir::Statement& statement) {
      if (const auto* let = std::get_if<Let>(&statement.node)) {
        Facts& facts = facts_[let->variable.get()];
        if (facts.lets++ == 0) variables_.push_back(let->variable.get());
        if (let->index == nullptr && isFunctionOfF32(*let->value)) ++facts.functions;
        if (const Variable* root = squared(*let->value)) {
          facts.squares = facts.root == root ? facts.squares + 1 : 1;
          facts.root = root;
        }
      }
      for (const Value* value : kir::valuesOf(statement)) {
        if (value->kind == ValueKind::Variable) ++facts_[value->variable.get()].uses;
        if (const Value* other = kir::addedToOne(*value); other != nullptr && other->kind == ValueKind::Variable)
          ++facts_[other->variable.get()].one_plus;
        if (const Variable* other = subtractedFromOne(*value)) ++facts_[other].one_minus;
      }
    });
  }

  // Whether the variable is always `root` squared, and used in 1 - root * root only.
  static bool isOneMinusSquare(const Facts& square, const Variable* root) {
    return square.root == root && square.squares == square.lets && square.one_minus == square.uses;
  }

  bool isUsedBesideOnesOnly(const Variable* variable) const {
    const Facts& facts = facts_.at(variable);
    if (facts.functions != facts.lets || facts.one_plus == 0) return false;
    int fitting = facts.one_plus;
    for (const auto& [each, square] : facts_) {
      if (isOneMinusSquare(square, variable)) fitting += 2 * square.squares;
    }
    return fitting == facts.uses;
  }

  kir::VariableRef sumOf(const Variable* variable) const {
    const auto found = facts_.find(variable);
    return found == facts_.end() ? nullptr : found->second.sum;
  }

  // The variable for root + 1, if this variable is root squared and root has no other use.
  kir::VariableRef sumOfRoot(const Variable* variable) const {
    const auto found = facts_.find(variable);
    return found == facts_.end() || found->second.root == nullptr ? nullptr : sumOf(found->second.root);
  }

  ValueRef rewritten(const ValueRef& value) const {
    if (const Value* other = kir::addedToOne(*value); other != nullptr && other->kind == ValueKind::Variable) {
      if (const kir::VariableRef sum = sumOf(other->variable.get())) return kir::use(sum);
    }
    if (const Variable* square = subtractedFromOne(*value)) {
      if (const kir::VariableRef sum = sumOfRoot(square)) {
        const ValueRef rest = kir::apply(FunctionId::sub, DataType::F32, {number(2), kir::use(sum)});
        return kir::apply(FunctionId::mul, DataType::F32, {kir::use(sum), rest});
      }
    }
    if (value->operands.empty()) return value;
    Value copy = *value;
    for (ValueRef& operand : copy.operands) operand = rewritten(operand);
    return std::make_shared<const Value>(std::move(copy));
  }

  ValueRef number(double value) const { return kir::number(fusion_.constant(value, DataType::F64), DataType::F32); }

  Fusion& fusion_;
  kir::NewValues new_values_;
  std::vector<const Variable*> variables_;  ///< in the order of their first Let
  std::map<const Variable*, Facts> facts_;
  bool finds_any_ = false;
};

}  // namespace

kir::Kernel onePlusRules(kir::Kernel kernel) {
  const OneJoiner joiner(kernel);
  if (joiner.findsAny()) kernel.body = withoutUnusedValues(joiner.rewrite(kernel.body));
  return kernel;
}

}  // namespace tokamak
