#include "lower/unroll_and_jam.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/substitute.h"
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
using kir::Variable;
using kir::VariableRef;

constexpr int64_t kRows = 8;
// Columns. Hardware prefetching works better with one stream of shorter rows than with several.
constexpr int64_t kLongRow = 1024;
constexpr int kMostCost = 8;  // of a row's values

// The stores that add to one element, and the Lets that they use.
struct Addition {
  std::vector<const Let*> lets;
  std::vector<const Store*> stores;
};

int costOf(const Value& value) {
  constexpr int kMuch = 100;
  int cost = 0;
  kir::visitValues(value, [&](const Value& each) {
    if (each.kind == ValueKind::Load || each.kind == ValueKind::Cast) cost += 1;
    if (each.kind == ValueKind::Choose) cost += kMuch;
    if (each.kind != ValueKind::Apply) return;
    const bool is_long =
        functionInfo(each.function).accuracy == Accuracy::Approx || each.function == FunctionId::philox;
    cost += is_long ? kMuch : 1;
  });
  return cost;
}

int loadsOf(const TensorView& tensor, const Value& value) {
  int count = 0;
  kir::visitValues(value, [&](const Value& each) {
    count += static_cast<int>(each.kind == ValueKind::Load && each.tensor == &tensor);
  });
  return count;
}

// The value with `operand` in place of its load from the tensor.
ValueRef withLoadReplaced(const ValueRef& value, const TensorView& tensor, const ValueRef& operand) {
  if (value->kind == ValueKind::Load && value->tensor == &tensor) return operand;
  if (loadsOf(tensor, *value) == 0) return value;
  Value copy = *value;
  for (ValueRef& each : copy.operands) each = withLoadReplaced(each, tensor, operand);
  return std::make_shared<const Value>(std::move(copy));
}

// Whether the value depends on the loop's index. `names`: the variables that do.
bool varies(const Value& value, const Scalar& index, const std::map<const Variable*, VariableRef>& names) {
  bool found = false;
  kir::visitValues(value, [&](const Value& each) {
    found |= each.scalar != nullptr && mentions(*each.scalar, index);
    found |= each.kind == ValueKind::Variable && names.contains(each.variable.get());
  });
  return found;
}

class LoopUnrollerAndJammer {
 public:
  explicit LoopUnrollerAndJammer(const kir::Kernel& kernel) : fusion_(*kernel.fusion), new_values_(kernel) {
    kir::assumeIndices(kernel, analysis_);
  }

  Statements rewrite(const Statements& statements) {
    return kir::withLoops(statements, [&](const Loop& loop, Statements& result) {
      const auto addition = additionOf(loop);
      if (addition && jam(loop, *addition, result)) return;
      Loop copy = loop;
      copy.body = rewrite(loop.body);
      result.push_back(kir::statement(std::move(copy)));
    });
  }

 private:
  bool movesWith(Scalar& place, Scalar& index) {
    Substitution first(fusion_);
    first.set(index, fusion_.constant(0));
    Scalar* moved = fusion_.sub(&place, fusion_.add(first(&place), &index));
    return moved->isConstantInt(0) || simplify(moved, analysis_)->isConstantInt(0);
  }

  std::optional<Addition> additionOf(const Loop& rows) {
    if (rows.type != ParallelType::Serial || rows.body.size() != 1) return std::nullopt;
    const auto* columns = std::get_if<Loop>(&rows.body.front()->node);
    if (columns == nullptr || columns->type != ParallelType::Serial) return std::nullopt;
    if (mentions(*columns->start, *rows.index) || mentions(*columns->stop, *rows.index)) return std::nullopt;
    if (analysis_.of(*fusion_.sub(columns->stop, columns->start)).upper < kLongRow) return std::nullopt;
    Addition addition;
    int cost = 0;
    for (const StatementRef& each : columns->body) {
      if (const auto* let = std::get_if<Let>(&each->node); let != nullptr && let->index == nullptr) {
        addition.lets.push_back(let);
        cost += costOf(*let->value);
        continue;
      }
      const auto* store = std::get_if<Store>(&each->node);
      if (store == nullptr || store->tensor->memoryType() != MemoryType::Local || store->block != nullptr)
        return std::nullopt;
      addition.stores.push_back(store);
      cost += costOf(*store->value);
    }
    if (addition.stores.empty() || cost > kMostCost) return std::nullopt;
    for (const Store* store : addition.stores) {
      if (!isAddition(*store, addition, rows, *columns)) return std::nullopt;
    }
    return addition;
  }

  // Whether the store reads the element that it writes, once, and nothing else in the loops accesses the tensor.
  bool isAddition(const Store& store, const Addition& addition, const Loop& rows, const Loop& columns) {
    if (mentions(*store.index, *rows.index) || !movesWith(*store.index, *columns.index)) return false;
    int loads = 0;
    int writers = 0;
    for (const Let* let : addition.lets) loads += 2 * loadsOf(*store.tensor, *let->value);
    for (const Store* each : addition.stores) {
      loads += loadsOf(*store.tensor, *each->value) * (each == &store ? 1 : 2);
      writers += static_cast<int>(each->tensor == store.tensor);
    }
    bool is_same = true;
    kir::visitValues(*store.value, [&](const Value& each) {
      if (each.kind == ValueKind::Load && each.tensor == store.tensor) is_same = is_same && each.scalar == store.index;
    });
    return loads == 1 && writers == 1 && is_same;
  }

  bool jam(const Loop& loop, const Addition& addition, Statements& result) {
    Scalar* length = simplify(fusion_.sub(loop.stop, loop.start), analysis_);
    // A constant number of few rows is jammed without a remainder.
    const int64_t at_once = std::min(length->constantInt().value_or(kRows), kRows);
    if (at_once < 2 || analysis_.of(*length).upper < at_once) return false;
    // (Blocks behind the last row have a negative number of rows.)
    if (analysis_.of(*length).lower < 0) length = fusion_.scalar(ScalarOp::Max, length, fusion_.constant(0));
    Scalar* rows = fusion_.constant(at_once);
    Scalar* whole = simplify(fusion_.floorDiv(length, rows), analysis_);
    Loop jammed = loop;
    jammed.start = fusion_.constant(0);
    jammed.stop = whole;
    jammed.index = indexLike(*loop.index, *whole, fusion_, analysis_);
    jammed.body = {kir::statement(columnsOf(loop, addition, *jammed.index, at_once))};
    result.push_back(kir::statement(std::move(jammed)));
    if (analysis_.of(*length).isDivisibleBy(at_once)) return true;
    Loop left = loop;
    left.start = simplify(fusion_.add(loop.start, fusion_.mul(whole, rows)), analysis_);
    result.push_back(kir::statement(std::move(left)));
    return true;
  }

  // The loop over the columns, for `rows` rows from those of `iteration` on.
  Loop columnsOf(const Loop& loop, const Addition& addition, Scalar& iteration, int64_t rows) {
    const auto& columns = std::get<Loop>(loop.body.front()->node);
    Loop result = columns;
    result.index = indexLike(*columns.index, *columns.stop, fusion_, analysis_);
    result.body.clear();
    std::map<const TensorView*, ValueRef> sums;
    for (int64_t row = 0; row < rows; ++row) {
      Substitution moved(fusion_);
      Scalar* first = fusion_.add(loop.start, fusion_.mul(&iteration, fusion_.constant(rows)));
      moved.set(*loop.index, fusion_.add(first, fusion_.constant(row)));
      moved.set(*columns.index, result.index);
      const auto place = [&](Scalar* scalar) { return simplify(moved(scalar), analysis_); };
      std::map<const Variable*, VariableRef> names;
      for (const Let* let : addition.lets) {
        if (row > 0 && !varies(*let->value, *loop.index, names)) continue;
        const Statements copied = kir::withScalars({kir::statement(*let)}, place);
        Let copy = std::get<Let>(copied.front()->node);
        copy.value = withVariables(copy.value, names);
        if (row > 0) {
          const VariableRef fresh = new_values_.named(let->variable->name, let->variable->dtype);
          copy.variable = std::make_shared<const Variable>(Variable{fresh->name, fresh->dtype, let->variable->tensor});
          names[let->variable.get()] = copy.variable;
        }
        result.body.push_back(kir::statement(std::move(copy)));
      }
      for (const Store* store : addition.stores) {
        const Statements copied = kir::withScalars({kir::statement(*store)}, place);
        ValueRef value = withVariables(std::get<Store>(copied.front()->node).value, names);
        ValueRef& sum = sums[store->tensor];
        sum = sum == nullptr ? value : withLoadReplaced(value, *store->tensor, sum);
      }
    }
    Substitution same(fusion_);
    same.set(*columns.index, result.index);
    for (const Store* store : addition.stores)
      result.body.push_back(
          kir::statement(Store{store->tensor, simplify(same(store->index), analysis_), sums[store->tensor]}));
    return result;
  }

  Fusion& fusion_;
  IntervalAnalysis analysis_;
  kir::NewValues new_values_;
};

}  // namespace

kir::Kernel unrollAndJam(kir::Kernel kernel) {
  if (kernel.hasThreads()) return kernel;
  kernel.body = LoopUnrollerAndJammer(kernel).rewrite(kernel.body);
  return kernel;
}

}  // namespace tokamak
