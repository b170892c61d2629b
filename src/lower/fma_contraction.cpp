#include "lower/fma_contraction.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "kernel/kernel_walk.h"
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

bool isOfF32(const Value& value, FunctionId function) {
  return value.kind == ValueKind::Apply && value.function == function && value.dtype == DataType::F32;
}

// Whether the operand may be computed later than where it is named: it reads no memory.
bool isFixed(const Value& value) { return value.kind == ValueKind::Variable || value.kind == ValueKind::Number; }

bool isProduct(const Value& value) {
  return isOfF32(value, FunctionId::mul) &&
         std::ranges::all_of(value.operands, [](const ValueRef& operand) { return isFixed(*operand); });
}

class ProductFuser {
 public:
  explicit ProductFuser(const Statements& body) {
    std::map<const Variable*, int> uses;
    std::map<const Variable*, int> lets;
    std::set<const Variable*> candidates;
    kir::visitStatements(body, [&](const kir::Statement& statement) {
      if (const auto* let = std::get_if<Let>(&statement.node)) {
        ++lets[let->variable.get()];
        const bool may_be_product = isProduct(*let->value) || let->value->kind == ValueKind::Variable;
        if (let->index == nullptr && may_be_product) candidates.insert(let->variable.get());
      }
      for (const Value* value : kir::valuesOf(statement)) {
        if (value->kind == ValueKind::Variable) ++uses[value->variable.get()];
      }
    });
    // (Two loops may define the same variable.)
    for (const Variable* variable : candidates) {
      if (uses[variable] <= lets[variable]) used_once_.insert(variable);
    }
  }

  bool findsAny() const { return !used_once_.empty(); }

  Statements rewrite(const Statements& statements) {
    return kir::withOverrides(
        statements, [this](const Let& let) { return rewritten(let); },
        [this](const ValueRef& value) { return rewritten(value); });
  }

 private:
  StatementRef rewritten(Let let) {
    let.value = rewritten(let.value);
    if (isProduct(*let.value) ||
        (let.value->kind == ValueKind::Variable && all_products_.contains(let.value->variable.get())))
      all_products_.insert(let.variable.get());
    ValueRef product = used_once_.contains(let.variable.get()) ? productOf(let.value) : nullptr;
    if (product == nullptr)
      products_.erase(let.variable.get());
    else
      products_[let.variable.get()] = std::move(product);
    return kir::statement(std::move(let));
  }

  // The product that a value is or names, or null.
  ValueRef productOf(const ValueRef& value) const {
    if (isProduct(*value)) return value;
    if (value->kind != ValueKind::Variable) return nullptr;
    const auto found = products_.find(value->variable.get());
    return found == products_.end() ? nullptr : found->second;
  }

  bool isAnyProduct(const Value& value) const {
    return isOfF32(value, FunctionId::mul) ||
           (value.kind == ValueKind::Variable && all_products_.contains(value.variable.get()));
  }

  ValueRef rewritten(const ValueRef& value) const {
    if (value->operands.empty()) return value;
    Value copy = *value;
    for (ValueRef& operand : copy.operands) operand = rewritten(operand);
    const bool is_sum = isOfF32(copy, FunctionId::add);
    if (!is_sum && !isOfF32(copy, FunctionId::sub)) return std::make_shared<const Value>(std::move(copy));
    const ValueRef& left = copy.operands[0];
    const ValueRef& right = copy.operands[1];
    // (The difference of equal products has to be 0, and is not if only one of them is rounded.)
    if (isAnyProduct(*left) && isAnyProduct(*right)) return std::make_shared<const Value>(std::move(copy));
    if (const ValueRef product = productOf(right))
      return kir::apply(is_sum ? FunctionId::add_alpha : FunctionId::sub_alpha, DataType::F32,
                        {left, product->operands[0], product->operands[1]});
    if (const ValueRef product = productOf(left)) {
      const ValueRef other = is_sum ? right : kir::apply(FunctionId::neg, DataType::F32, {right});
      return kir::apply(FunctionId::add_alpha, DataType::F32, {other, product->operands[0], product->operands[1]});
    }
    return std::make_shared<const Value>(std::move(copy));
  }

  std::set<const Variable*> used_once_;
  std::set<const Variable*> all_products_;
  std::map<const Variable*, ValueRef> products_;  // by the last Let before
};

}  // namespace

kir::Kernel fmaContraction(kir::Kernel kernel) {
  if (!kernel.hasThreads()) return kernel;
  ProductFuser fuser(kernel.body);
  if (fuser.findsAny()) kernel.body = withoutUnusedValues(fuser.rewrite(kernel.body));
  return kernel;
}

}  // namespace tokamak
