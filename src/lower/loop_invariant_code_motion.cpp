#include "lower/loop_invariant_code_motion.h"

#include <algorithm>
#include <map>
#include <set>

#include "kernel/index_assumptions.h"
#include "kernel/kernel_walk.h"
#include "kernel/rewrite.h"
#include "lower/loop_changes.h"
#include "symbolic/interval_analysis.h"

namespace tokamak {

namespace {

using kir::Let;
using kir::Loop;
using kir::Statement;
using kir::StatementRef;
using kir::Statements;
using kir::Value;
using kir::ValueKind;
using kir::ValueRef;
using kir::VariableRef;

bool isSame(const Value& a, const Value& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.tensor == b.tensor && a.scalar == b.scalar &&
         a.variable == b.variable && a.function == b.function &&
         std::ranges::equal(a.operands, b.operands,
                            [](const ValueRef& x, const ValueRef& y) { return isSame(*x, *y); });
}

class InvariantHoister {
 public:
  explicit InvariantHoister(const kir::Kernel& kernel)
      : fusion_(*kernel.fusion),
        has_threads_(kernel.hasThreads()),
        has_updates_(!kernel.updates.empty()),
        new_values_(kernel) {
    kir::assumeIndices(kernel, analysis_);
    kir::visitStatements(kernel.body, [&](const Statement& each) {
      if (const auto* let = std::get_if<Let>(&each.node)) ++lets_[let->variable->name];
      if (const TensorView* tensor = kir::writtenBy(each)) written_.insert(tensor);
    });
  }

  Statements rewrite(const Statements& statements) {
    Statements result;
    Statements known;
    for (const StatementRef& each : statements) {
      if (const auto* loop = std::get_if<Loop>(&each->node)) {
        Loop copy = *loop;
        copy.body = rewrite(loop->body);
        hoist(copy, known, result);
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
  static bool isChanged(const Value& value, const LoopChanges& changes) {
    bool found = false;
    kir::visitValues(value, [&](const Value& each) {
      found |= each.scalar != nullptr && kir::mentionsAny(*each.scalar, changes.indices);
      found |= each.kind == ValueKind::Variable && changes.variables.contains(each.variable.get());
      found |= each.kind == ValueKind::Load && changes.tensors.contains(each.tensor);
    });
    return found;
  }

  static bool readsMemory(const Value& value) {
    bool found = false;
    kir::visitValues(value, [&](const Value& each) { found |= each.kind == ValueKind::Load; });
    return found;
  }

  // Whether the value is a guarded load of memory that the kernel does not write. (Compilers do not hoist those.)
  bool hasGuardedLoad(const Value& value) const {
    bool chooses = false;
    kir::visitValues(value, [&](const Value& each) { chooses |= each.kind == ValueKind::Choose; });
    return chooses && readsMemory(value) && dependsOnInputsOnly(value) && !has_updates_;
  }

  // The value with "the loop runs" added to its guard.
  ValueRef guardedByLoop(const Loop& loop, const ValueRef& value) {
    Scalar* zero = fusion_.constant(0);
    return kir::choose(fusion_.scalar(ScalarOp::Less, loop.start, loop.stop), value, kir::number(zero, value->dtype));
  }

  bool dependsOnInputsOnly(const Value& value) const {
    bool result = true;
    kir::visitValues(value,
                     [&](const Value& each) { result &= each.tensor == nullptr || !written_.contains(each.tensor); });
    return result;
  }

  // Moves the loop's invariant values to the end of `before`. `known`: the values that earlier loops moved there.
  void hoist(Loop& loop, Statements& known, Statements& before) {
    LoopChanges changes = changesOf(loop);
    const bool does_loop_run = analysis_.isProvablyLess(*loop.start, *loop.stop);
    Statements body;
    kir::Renamed renamed;
    for (const StatementRef& each : loop.body) {
      const StatementRef statement = withNames(each, renamed);
      const auto* let = std::get_if<Let>(&statement->node);
      const bool may_move = let != nullptr && let->index == nullptr && !isChanged(*let->value, changes);
      const bool is_by_choice = may_move && hasGuardedLoad(*let->value);
      const bool is_safe = may_move && (does_loop_run || !readsMemory(*let->value));
      if (!is_by_choice && (!is_safe || has_threads_)) {
        body.push_back(statement);
        continue;
      }
      changes.variables.erase(let->variable.get());
      Let moved = *let;
      if (!is_safe) moved.value = guardedByLoop(loop, let->value);
      renamed[let->variable.get()] = hoisted(moved, known, before);
    }
    loop.body = std::move(body);
  }

  VariableRef hoisted(const Let& let, Statements& known, Statements& before) {
    for (const StatementRef& each : known) {
      const auto& other = std::get<Let>(each->node);
      if (isSame(*other.value, *let.value)) return other.variable;
    }
    Let copy = let;
    if (lets_[let.variable->name] > 1) {
      kir::Variable variable = *new_values_.named(let.variable->name, let.variable->dtype);
      variable.tensor = let.variable->tensor;
      copy.variable = std::make_shared<const kir::Variable>(std::move(variable));
      lets_[copy.variable->name] = 1;
    }
    before.push_back(kir::statement(copy));
    if (dependsOnInputsOnly(*copy.value)) known.push_back(before.back());
    return copy.variable;
  }

  static StatementRef withNames(const StatementRef& statement, const kir::Renamed& renamed) {
    if (renamed.empty()) return statement;
    const auto all = [&](const Statements& statements) {
      Statements result;
      for (const StatementRef& each : statements) result.push_back(withNames(each, renamed));
      return result;
    };
    if (const auto* let = std::get_if<Let>(&statement->node)) {
      Let copy = *let;
      copy.value = kir::withVariables(let->value, renamed);
      return kir::statement(std::move(copy));
    }
    if (const auto* store = std::get_if<kir::Store>(&statement->node)) {
      kir::Store copy = *store;
      copy.value = kir::withVariables(store->value, renamed);
      return kir::statement(std::move(copy));
    }
    if (const auto* loop = std::get_if<Loop>(&statement->node)) {
      Loop copy = *loop;
      copy.body = all(loop->body);
      return kir::statement(std::move(copy));
    }
    if (const auto* guard = std::get_if<kir::If>(&statement->node))
      return kir::statement(kir::If{guard->predicate, all(guard->body)});
    return statement;
  }

  Fusion& fusion_;
  bool has_threads_;
  bool has_updates_;
  kir::NewValues new_values_;
  IntervalAnalysis analysis_;
  std::map<std::string, int> lets_;  ///< how many have the name
  std::set<const TensorView*> written_;
};

}  // namespace

kir::Kernel loopInvariantCodeMotion(kir::Kernel kernel) {
  kernel.body = InvariantHoister(kernel).rewrite(kernel.body);
  return kernel;
}

}  // namespace tokamak
