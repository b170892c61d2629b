#include "lower/predicate_folding.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_set>
#include <vector>

#include "analysis/substitute.h"
#include "compute/element.h"
#include "kernel/kernel_walk.h"
#include "kernel/rewrite.h"
#include "symbolic/interval_analysis.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

using kir::Let;
using kir::Loop;
using kir::Statement;
using kir::StatementRef;
using kir::Statements;
using kir::Store;
using kir::Value;
using kir::ValueKind;
using kir::ValueRef;

void visitChoices(const Statements& statements, const std::function<void(Scalar&)>& visit) {
  kir::visitStatements(statements, [&](const Statement& statement) {
    for (const Value* each : kir::valuesOf(statement)) {
      if (each->kind == ValueKind::Choose) visit(*each->scalar);
    }
  });
}

namespace {

void visitNodesOf(Scalar& scalar, std::unordered_set<const Scalar*>& seen, const std::function<void(Scalar&)>& visit) {
  if (!seen.insert(&scalar).second) return;
  visit(scalar);
  for (Scalar* operand : scalar.operands()) visitNodesOf(*operand, seen, visit);
}

}  // namespace

void visitNodesOf(Scalar& scalar, const std::function<void(Scalar&)>& visit) {
  std::unordered_set<const Scalar*> seen;
  visitNodesOf(scalar, seen, visit);
}

namespace {

// Folds choices with a constant predicate.
ValueRef foldChoices(const ValueRef& value) {
  if (value->kind == ValueKind::Choose && value->scalar->isConstant())
    return foldChoices(value->operands[asInt(value->scalar->value()) != 0 ? 0 : 1]);
  if (value->operands.empty()) return value;
  Value copy = *value;
  for (ValueRef& operand : copy.operands) operand = foldChoices(operand);
  return std::make_shared<const Value>(std::move(copy));
}

}  // namespace

Statements foldChoices(const Statements& statements) {
  Statements result;
  for (const StatementRef& each : statements) {
    if (const auto* loop = std::get_if<Loop>(&each->node)) {
      Loop copy = *loop;
      copy.body = foldChoices(loop->body);
      result.push_back(kir::statement(std::move(copy)));
    } else if (const auto* guard = std::get_if<kir::If>(&each->node)) {
      if (guard->predicate->isConstant() && asInt(guard->predicate->value()) == 0) continue;
      result.push_back(kir::statement(kir::If{guard->predicate, foldChoices(guard->body)}));
    } else if (const auto* let = std::get_if<Let>(&each->node)) {
      Let copy = *let;
      copy.value = foldChoices(let->value);
      result.push_back(kir::statement(std::move(copy)));
    } else if (const auto* store = std::get_if<Store>(&each->node)) {
      Store copy = *store;
      copy.value = foldChoices(store->value);
      result.push_back(kir::statement(std::move(copy)));
    } else {
      result.push_back(each);
    }
  }
  return result;
}

Statements withoutUnusedValues(const Statements& statements) {
  Statements result;
  std::set<const kir::Variable*> used;
  for (size_t i = statements.size(); i-- > 0;) {
    StatementRef each = statements[i];
    if (const auto* loop = std::get_if<Loop>(&each->node)) {
      Loop copy = *loop;
      copy.body = withoutUnusedValues(loop->body);
      each = kir::statement(std::move(copy));
    } else if (const auto* guard = std::get_if<kir::If>(&each->node)) {
      each = kir::statement(kir::If{guard->predicate, withoutUnusedValues(guard->body)});
    } else if (const auto* let = std::get_if<Let>(&each->node)) {
      if (let->index == nullptr && !used.contains(let->variable.get())) continue;
    }
    kir::visitStatements({each}, [&](const Statement& inside) {
      for (const Value* value : kir::valuesOf(inside)) {
        if (value->kind == ValueKind::Variable) used.insert(value->variable.get());
      }
    });
    result.push_back(std::move(each));
  }
  std::ranges::reverse(result);
  return result;
}

Scalar* indexLike(const Scalar& index, Scalar& stop, Fusion& fusion, IntervalAnalysis& analysis) {
  Scalar* copy = fusion.symbol(index.name());
  analysis.assumeIndex(*copy, stop);
  return copy;
}

Scalar* marginOf(const Scalar& comparison, Fusion& fusion) {
  Scalar* margin = fusion.sub(comparison.operand(1), comparison.operand(0));
  return comparison.op() == ScalarOp::Less ? margin : fusion.add(margin, fusion.constant(1));
}

namespace {

bool isComparison(const Scalar& scalar) {
  return (scalar.op() == ScalarOp::Less || scalar.op() == ScalarOp::LessEqual) &&
         isIntegerType(scalar.operand(0)->dtype());
}

void collectComparisons(Scalar& scalar, std::set<const Scalar*>& seen, std::vector<Scalar*>& found) {
  if (!seen.insert(&scalar).second) return;
  if (isComparison(scalar)) found.push_back(&scalar);
  for (Scalar* operand : scalar.operands()) collectComparisons(*operand, seen, found);
}

// The loop's other comparisons that depend on its index.
std::vector<Scalar*> otherComparisons(const Loop& loop, const KnownComparison& fact) {
  std::vector<Scalar*> found;
  if (!isComparison(*fact.comparison) || !mentions(*fact.comparison, *loop.index)) return found;
  std::set<const Scalar*> seen;
  kir::visitScalars(loop.body, [&](Scalar& scalar) { collectComparisons(scalar, seen, found); });
  std::erase_if(found, [&](Scalar* each) { return each == fact.comparison || !mentions(*each, *loop.index); });
  return found;
}

// The value of another comparison, if the known one implies it: i < n implies i < 2 * n.
std::optional<bool> impliedBy(const KnownComparison& fact, const Scalar& other, Fusion& fusion,
                              IntervalAnalysis& analysis) {
  Scalar* known = marginOf(*fact.comparison, fusion);
  Scalar* asked = marginOf(other, fusion);
  Scalar* opposite = fusion.sub(fusion.constant(1), asked);
  if (fact.holds) {
    if (analysis.isProvablyLessOrEqual(*known, *asked)) return true;
    if (analysis.isProvablyLessOrEqual(*known, *opposite)) return false;
  } else {
    if (analysis.isProvablyLessOrEqual(*asked, *known)) return false;
    if (analysis.isProvablyLessOrEqual(*opposite, *known)) return true;
  }
  return std::nullopt;
}

}  // namespace

Loop loopGiven(const Loop& loop, Scalar* start, Scalar* stop, KnownComparison fact, Fusion& fusion,
               IntervalAnalysis& analysis) {
  Substitution known(fusion);
  const auto know = [&](Scalar* truth, bool holds) {
    for (Scalar* form : {truth, simplify(truth, analysis)}) {
      if (!form->isConstant()) known.set(*form, fusion.constant(holds, DataType::Bool));
    }
  };
  know(fact.comparison, fact.holds);
  know(fusion.scalar(ScalarOp::Not, fact.comparison), !fact.holds);
  for (Scalar* other : otherComparisons(loop, fact)) {
    if (const auto holds = impliedBy(fact, *other, fusion, analysis)) know(other, *holds);
  }
  const auto copyIndex = [&](Scalar* index, Scalar* end) {
    known.set(*index, indexLike(*index, *end, fusion, analysis));
  };
  Loop result = loop;
  result.start = start;
  result.stop = stop;
  Scalar* index = indexLike(*loop.index, *stop, fusion, analysis);
  kir::visitStatements(loop.body, [&](const Statement& each) {
    if (const auto* nested = std::get_if<Loop>(&each.node)) copyIndex(nested->index, nested->stop);
    if (const auto* let = std::get_if<Let>(&each.node); let != nullptr && let->index != nullptr)
      copyIndex(let->index, let->extent);
  });
  // Replaced before the index, which the comparison may mention.
  result.body = kir::withScalars(
      loop.body, [&](Scalar* scalar) { return simplify(known(simplify(known(scalar), analysis)), analysis); });
  Substitution fresh(fusion);
  fresh.set(*loop.index, index);
  result.body =
      foldChoices(kir::withScalars(result.body, [&](Scalar* scalar) { return simplify(fresh(scalar), analysis); }));
  result.index = index;
  return result;
}

}  // namespace tokamak
