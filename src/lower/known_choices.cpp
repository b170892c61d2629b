#include "lower/known_choices.h"

#include <algorithm>
#include <set>

#include "analysis/substitute.h"
#include "ir/interval_analysis.h"
#include "ir/scalar_simplifier.h"
#include "kernel/kernel_walk.h"
#include "kernel/rewrite.h"

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

void visitNodesOf(Scalar& scalar, const std::function<void(Scalar&)>& visit) {
  visit(scalar);
  for (Scalar* operand : scalar.operands()) visitNodesOf(*operand, visit);
}

namespace {

// Choices whose predicate is a constant become what they choose.
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

Loop loopKnowing(const Loop& loop, Scalar* start, Scalar* stop, KnownComparison fact, Fusion& fusion,
                 IntervalAnalysis& analysis) {
  Substitution known(fusion);
  const auto know = [&](Scalar* truth, bool holds) {
    for (Scalar* form : {truth, simplify(truth, analysis)}) {
      if (!form->isConstant()) known.set(*form, fusion.constant(holds, DataType::Bool));
    }
  };
  know(fact.comparison, fact.holds);
  know(fusion.scalar(ScalarOp::Not, fact.comparison), !fact.holds);
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
  // The comparison may mention the old index: it goes first.
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
