#include "lower/select_sinking.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compute/element.h"
#include "kernel/index_assumptions.h"
#include "kernel/rewrite.h"
#include "lower/predicate_folding.h"
#include "symbolic/interval_analysis.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

using kir::Let;
using kir::Loop;
using kir::StatementRef;
using kir::Statements;
using kir::Store;
using kir::Value;
using kir::ValueKind;
using kir::ValueRef;

class ChoiceMerger {
 public:
  explicit ChoiceMerger(const kir::Kernel& kernel) : fusion_(*kernel.fusion), new_values_(kernel) {
    kir::assumeIndices(kernel, analysis_);
  }

  Statements rewrite(const Statements& statements) {
    return kir::withLoops(statements, [&](const Loop& loop, Statements& result) {
      Loop copy = loop;
      copy.body = loop.type == ParallelType::Vectorize ? merged(loop) : rewrite(loop.body);
      result.push_back(kir::statement(std::move(copy)));
    });
  }

 private:
  // One operand of a choice, and the predicate's value for which it is chosen.
  struct Side {
    ValueRef value;
    bool holds;
  };

  Statements merged(const Loop& loop) {
    lets_.clear();
    written_.clear();
    for (const StatementRef& each : loop.body) {
      if (const auto* store = std::get_if<Store>(&each->node)) {
        written_.insert(store->tensor);
      } else if (!std::holds_alternative<Let>(each->node)) {
        return loop.body;
      }
    }
    index_ = loop.index;
    bool is_changed = false;
    Statements body;
    for (const StatementRef& each : loop.body) {
      if (const auto* let = std::get_if<Let>(&each->node); let != nullptr && let->index == nullptr) {
        Let copy = *let;
        copy.value = withMergedChoices(let->value, is_changed);
        lets_[copy.variable.get()] = copy.value;
        moveDefinitions(body);
        body.push_back(kir::statement(std::move(copy)));
      } else if (const auto* store = std::get_if<Store>(&each->node)) {
        Store copy{store->tensor, store->index, withMergedChoices(store->value, is_changed)};
        moveDefinitions(body);
        body.push_back(kir::statement(std::move(copy)));
      } else {
        body.push_back(each);
      }
    }
    return is_changed ? withoutUnusedValues(body) : loop.body;
  }

  // Moves the Lets that the next statement needs to `body`.
  void moveDefinitions(Statements& body) {
    for (StatementRef& each : named_) body.push_back(std::move(each));
    named_.clear();
  }

  ValueRef withMergedChoices(const ValueRef& value, bool& is_changed) {
    if (value->kind == ValueKind::Choose && !mentions(*value->scalar, *index_)) {
      predicate_ = value->scalar;
      opposite_ = simplify(fusion_.scalar(ScalarOp::Not, predicate_), analysis_);
      loads_ = 0;
      const size_t named_before = named_.size();
      const ValueRef one = merge({value->operands[0], true}, {value->operands[1], false}, 0);
      if (one != nullptr && loads_ > 0) {
        is_changed = true;
        return one;
      }
      named_.resize(named_before);
    }
    if (value->operands.empty()) return value;
    Value copy = *value;
    for (ValueRef& operand : copy.operands) operand = withMergedChoices(operand, is_changed);
    return copy.operands == value->operands ? value : std::make_shared<const Value>(std::move(copy));
  }

  // The value behind variables, and behind choices by the same predicate.
  ValueRef resolved(const Side& side) const {
    ValueRef value = side.value;
    for (;;) {
      if (value->kind == ValueKind::Variable) {
        const auto found = lets_.find(value->variable.get());
        if (found == lets_.end()) return value;
        value = found->second;
      } else if (value->kind == ValueKind::Choose && (value->scalar == predicate_ || value->scalar == opposite_)) {
        value = value->operands[(value->scalar == predicate_) == side.holds ? 0 : 1];
      } else {
        return value;
      }
    }
  }

  // One value for both sides, or null.
  ValueRef merge(const Side& a, const Side& b, int depth) {
    constexpr int kDeepest = 12;
    if (depth > kDeepest) return nullptr;
    if (isSameName(a.value, b.value)) return a.value;
    const ValueRef x = resolved(a);
    const ValueRef y = resolved(b);
    if (x->dtype != y->dtype) return nullptr;
    if (x->kind != y->kind || x->function != y->function) return mergeNegative(a, b, depth);
    switch (x->kind) {
      case ValueKind::Variable: return x->variable == y->variable ? x : nullptr;
      case ValueKind::Number: return x->scalar == y->scalar ? x : nullptr;
      case ValueKind::Load: return mergeLoads(*x, *y);
      case ValueKind::Choose: return nullptr;
      case ValueKind::Apply:
      case ValueKind::Cast: break;
    }
    if (x->operands.size() != y->operands.size()) return nullptr;
    Value result = *x;
    for (size_t i = 0; i < result.operands.size(); ++i) {
      result.operands[i] = merge({x->operands[i], a.holds}, {y->operands[i], b.holds}, depth + 1);
      if (result.operands[i] == nullptr) return nullptr;
    }
    return std::make_shared<const Value>(std::move(result));
  }

  ValueRef mergeNegative(const Side& a, const Side& b, int depth) {
    const ValueRef x = resolved(a);
    const ValueRef y = resolved(b);
    const auto isNegative = [](const Value& value) {
      return value.kind == ValueKind::Apply && value.function == FunctionId::neg && isFloatingType(value.dtype);
    };
    if (isNegative(*x) == isNegative(*y)) return nullptr;
    const bool is_first = isNegative(*x);
    const ValueRef same =
        is_first ? merge({x->operands[0], a.holds}, b, depth + 1) : merge(a, {y->operands[0], b.holds}, depth + 1);
    if (same == nullptr) return nullptr;
    const ValueRef one = named(same);
    const ValueRef negative = kir::apply(FunctionId::neg, x->dtype, {one});
    return is_first ? kir::choose(predicate_, negative, one) : kir::choose(predicate_, one, negative);
  }

  ValueRef named(const ValueRef& value) {
    const kir::VariableRef variable = new_values_.named("chosen", value->dtype);
    named_.push_back(kir::statement(Let{.variable = variable, .value = value}));
    lets_[variable.get()] = value;
    return kir::use(variable);
  }

  ValueRef mergeLoads(const Value& a, const Value& b) {
    // The loads move down to the choice, which must not be past stores to the tensor.
    if (a.tensor != b.tensor || written_.contains(a.tensor)) return nullptr;
    if (a.scalar == b.scalar) return kir::load(*a.tensor, a.scalar);
    const auto distance = simplify(fusion_.sub(a.scalar, b.scalar), analysis_)->constantInt();
    if (!distance) return nullptr;
    ++loads_;
    Scalar* is_first = fusion_.scalar(ScalarOp::Select, predicate_, fusion_.constant(1), fusion_.constant(0));
    return kir::load(*a.tensor, fusion_.add(b.scalar, fusion_.mul(is_first, fusion_.constant(*distance))));
  }

  static bool isSameName(const ValueRef& a, const ValueRef& b) {
    return a->kind == ValueKind::Variable && b->kind == ValueKind::Variable && a->variable == b->variable;
  }

  Fusion& fusion_;
  kir::NewValues new_values_;
  IntervalAnalysis analysis_;
  const Scalar* index_ = nullptr;
  std::map<const kir::Variable*, ValueRef> lets_;
  std::set<const TensorView*> written_;
  Statements named_;
  // The predicate of the choice that is being merged.
  Scalar* predicate_ = nullptr;
  Scalar* opposite_ = nullptr;
  int loads_ = 0;
};

}  // namespace

kir::Kernel selectSinking(kir::Kernel kernel) {
  if (!kernel.hasThreads()) return kernel;
  kernel.body = ChoiceMerger(kernel).rewrite(kernel.body);
  return kernel;
}

}  // namespace tokamak
