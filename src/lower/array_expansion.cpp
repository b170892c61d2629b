#include "lower/array_expansion.h"

#include <algorithm>
#include <map>
#include <set>

#include <optional>

#include "analysis/substitute.h"
#include "compute/element.h"
#include "kernel/index_assumptions.h"
#include "kernel/kernel_walk.h"
#include "kernel/rewrite.h"
#include "lower/loop_changes.h"
#include "lower/predicate_folding.h"
#include "symbolic/interval_analysis.h"

namespace tokamak {

namespace {

using kir::Let;
using kir::Loop;
using kir::StatementRef;
using kir::Statements;
using kir::Store;
using kir::Value;
using kir::ValueKind;
using kir::Variable;

constexpr int kLeastOperations = 12;
constexpr int64_t kMostIterations = 1024;

class Tabulator {
 public:
  explicit Tabulator(const kir::Kernel& kernel) : fusion_(*kernel.fusion), has_threads_(kernel.hasThreads()) {
    kir::assumeIndices(kernel, analysis_);
  }

  Statements rewrite(const Statements& statements) {
    Statements result;
    for (const StatementRef& each : statements) {
      if (const auto* loop = std::get_if<Loop>(&each->node)) {
        Loop copy = *loop;
        if (loop->type != ParallelType::Vectorize) moveToTables(copy, result);
        copy.body = rewrite(copy.body);
        result.push_back(kir::statement(std::move(copy)));
      } else if (const auto* guard = std::get_if<kir::If>(&each->node)) {
        result.push_back(kir::statement(kir::If{guard->predicate, rewrite(guard->body)}));
      } else {
        result.push_back(each);
      }
    }
    return result;
  }

 private:
  // Moves values of the innermost loops in `around` to tables, which statements added to `before` fill.
  void moveToTables(Loop& around, Statements& before) {
    const LoopChanges changes = changesOf(around);
    around.body = withTables(around.body, around, changes, before);
  }

  Statements withTables(const Statements& body, const Loop& around, const LoopChanges& changes, Statements& before) {
    Statements result;
    for (const StatementRef& each : body) {
      const auto* loop = std::get_if<Loop>(&each->node);
      if (loop == nullptr) {
        result.push_back(each);
        continue;
      }
      Loop copy = *loop;
      if (isTabulated(*loop))
        tabulate(copy, around, changes, before);
      else if (analysis_.isProvablyLess(*loop->start, *loop->stop))
        copy.body = withTables(loop->body, around, changes, before);
      result.push_back(kir::statement(std::move(copy)));
    }
    return result;
  }

  bool isTabulated(const Loop& loop) const {
    const auto iterations = loop.stop->constantInt();
    if (!loop.start->isConstantInt(0) || !iterations || *iterations < 2 || *iterations > kMostIterations) return false;
    if (has_threads_ && loop.type != ParallelType::Vectorize) return false;
    return std::ranges::all_of(loop.body, [](const StatementRef& each) {
      const auto* let = std::get_if<Let>(&each->node);
      return let == nullptr ? std::holds_alternative<Store>(each->node) : let->index == nullptr;
    });
  }

  // A value of the innermost loop that the loops around it do not change.
  struct Invariant {
    bool varies = false;                ///< with the loop's index
    std::set<const Variable*> made_of;  ///< the variables it is computed from, itself included
  };

  void tabulate(Loop& loop, const Loop& around, const LoopChanges& changes, Statements& before) {
    std::map<const Variable*, Invariant> invariants;
    std::map<const Variable*, int> operations;
    for (const StatementRef& each : loop.body) {
      const auto* let = std::get_if<Let>(&each->node);
      if (let == nullptr) continue;
      if (auto facts = invariantOf(*let->value, *loop.index, changes, invariants)) {
        facts->made_of.insert(let->variable.get());
        operations[let->variable.get()] = static_cast<int>(kir::valuesOf(*each).size());
        invariants[let->variable.get()] = std::move(*facts);
      }
    }
    Statements body;
    for (const StatementRef& each : loop.body) {
      const auto* let = std::get_if<Let>(&each->node);
      const auto found = let == nullptr ? invariants.end() : invariants.find(let->variable.get());
      if (found == invariants.end() || !found->second.varies || let->variable->dtype == DataType::Bool ||
          !isNeeded(*found->first, loop, invariants) || sumOf(found->second, operations) < kLeastOperations) {
        body.push_back(each);
        continue;
      }
      const TensorView& table = fill(loop, around, *let, found->second, before);
      Let copy = *let;
      copy.value = kir::load(table, loop.index);
      body.push_back(kir::statement(std::move(copy)));
    }
    loop.body = withoutUnusedValues(body);
  }

  static int sumOf(const Invariant& invariants, const std::map<const Variable*, int>& operations) {
    int sum = 0;
    for (const Variable* each : invariants.made_of) sum += operations.at(each);
    return sum;
  }

  // Nothing if the loops around change the value.
  static std::optional<Invariant> invariantOf(const Value& value, const Scalar& index, const LoopChanges& changes,
                                              const std::map<const Variable*, Invariant>& known) {
    Invariant invariants;
    bool is_kept = true;
    std::set<const Scalar*> others = changes.indices;
    others.erase(&index);
    kir::visitValues(value, [&](const Value& each) {
      if (each.scalar != nullptr) {
        is_kept &= !kir::mentionsAny(*each.scalar, others);
        invariants.varies |= mentions(*each.scalar, index);
      }
      if (each.kind == ValueKind::Load) is_kept &= !changes.tensors.contains(each.tensor);
      if (each.kind != ValueKind::Variable) return;
      const auto found = known.find(each.variable.get());
      if (found != known.end()) {
        invariants.varies |= found->second.varies;
        invariants.made_of.insert(found->second.made_of.begin(), found->second.made_of.end());
      } else {
        is_kept &= !changes.variables.contains(each.variable.get());
      }
    });
    return is_kept ? std::optional(invariants) : std::nullopt;
  }

  // Whether a statement that stays in the loop uses the value.
  static bool isNeeded(const Variable& variable, const Loop& loop,
                       const std::map<const Variable*, Invariant>& invariants) {
    return std::ranges::any_of(loop.body, [&](const StatementRef& each) {
      const auto* let = std::get_if<Let>(&each->node);
      if (let != nullptr && invariants.contains(let->variable.get())) return false;
      return std::ranges::any_of(kir::valuesOf(*each), [&](const Value* value) {
        return value->kind == ValueKind::Variable && value->variable.get() == &variable;
      });
    });
  }

  const TensorView& fill(const Loop& loop, const Loop& around, const Let& let, const Invariant& invariants,
                         Statements& before) {
    TensorView* table = fusion_.tensor(let.variable->dtype, {fusion_.axis({.extent = loop.stop})});
    table->setMemoryType(MemoryType::Local);
    before.push_back(kir::statement(kir::Allocate{table, loop.stop}));
    Loop filling = loop;
    filling.index = indexLike(*loop.index, *loop.stop, fusion_, analysis_);
    Statements lets;
    for (const StatementRef& each : loop.body) {
      const auto* other = std::get_if<Let>(&each->node);
      if (other != nullptr && invariants.made_of.contains(other->variable.get())) lets.push_back(each);
    }
    Substitution fresh(fusion_);
    fresh.set(*loop.index, filling.index);
    filling.body = kir::withScalars(lets, [&](Scalar* scalar) { return fresh(scalar); });
    filling.body.push_back(kir::statement(Store{table, filling.index, kir::use(let.variable)}));
    StatementRef statement = kir::statement(std::move(filling));
    if (!analysis_.isProvablyLess(*around.start, *around.stop)) {
      Scalar* does_loop_run = fusion_.scalar(ScalarOp::Less, around.start, around.stop);
      statement = kir::statement(kir::If{does_loop_run, {std::move(statement)}});
    }
    before.push_back(std::move(statement));
    return *table;
  }

  Fusion& fusion_;
  bool has_threads_;
  IntervalAnalysis analysis_;
};

}  // namespace

kir::Kernel arrayExpansion(kir::Kernel kernel) {
  kernel.body = Tabulator(kernel).rewrite(kernel.body);
  return kernel;
}

}  // namespace tokamak
