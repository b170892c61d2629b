#include "lower/circular_buffers.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/substitute.h"
#include "kernel/index_assumptions.h"
#include "kernel/kernel_walk.h"
#include "kernel/rewrite.h"
#include "symbolic/interval_analysis.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

using kir::Allocate;
using kir::CopyGroup;
using kir::If;
using kir::Loop;
using kir::statement;
using kir::Statement;
using kir::StatementRef;
using kir::Statements;
using kir::Store;
using Tensors = std::set<const TensorView*>;

// Local buffers are filled one iteration ahead at most, as registers are few.
bool isFilledAhead(const TensorView& tensor) {
  return tensor.circularBuffer() &&
         (tensor.memoryType() == MemoryType::Shared || tensor.circularBuffer()->prefetch == 1);
}

// Whether both buffers have the same memory, stages and prefetch distance.
bool haveOneForm(const TensorView& a, const TensorView& b) {
  return a.memoryType() == b.memoryType() && a.circularBuffer() == b.circularBuffer();
}

class CircularBuffering {
 public:
  explicit CircularBuffering(const kir::Kernel& kernel) : fusion_(*kernel.fusion) {
    kir::assumeIndices(kernel, analysis_);
    kir::visitStatements(kernel.body, [&](const Statement& each) {
      if (const TensorView* tensor = kir::writtenBy(each)) written_.insert(tensor);
      if (const auto* allocate = std::get_if<Allocate>(&each.node)) ++allocations_[allocate->tensor];
      const auto* let = std::get_if<kir::Let>(&each.node);
      if (let != nullptr && let->index != nullptr) positions_.insert(let->index);
    });
  }

  // Removes marks without effect: async-copies takes marked tensors for tensors that this pass waits for.
  void dropUnusedMarks() {
    for (const auto& [tensor, count] : allocations_) {
      if (tensor->memoryType() == MemoryType::Shared && !staged_.contains(tensor))
        const_cast<TensorView*>(tensor)->setCircularBuffer(std::nullopt);
    }
  }

  Statements rewrite(const Statements& statements) {
    return kir::withLoops(statements, [&](const Loop& loop, Statements& result) {
      Loop copy = loop;
      copy.body = rewrite(loop.body);
      const std::vector<const TensorView*> kinds =
          loop.type == ParallelType::Serial ? kindsIn(copy) : std::vector<const TensorView*>();
      if (!kinds.empty()) copy.body = withInlinedLoads(copy.body);
      for (const TensorView* kind : kinds) {
        const Tensors tensors = filledFromInputs(copy, *kind);
        if (tensors.empty()) continue;
        if (kind->memoryType() == MemoryType::Shared)
          prefetchToShared(copy, tensors, result);
        else
          prefetchToRegisters(copy, tensors, result);
      }
      result.push_back(statement(std::move(copy)));
    });
  }

 private:
  // One tensor for each kind (haveOneForm) of buffer in the loop's body.
  static std::vector<const TensorView*> kindsIn(const Loop& loop) {
    std::vector<const TensorView*> kinds;
    for (const StatementRef& each : loop.body) {
      const auto* allocate = std::get_if<Allocate>(&each->node);
      if (allocate == nullptr || !isFilledAhead(*allocate->tensor)) continue;
      if (std::ranges::none_of(kinds, [&](const TensorView* kind) { return haveOneForm(*kind, *allocate->tensor); }))
        kinds.push_back(allocate->tensor);
    }
    return kinds;
  }

  // `let t = T0[i]; A[j] = t` becomes `A[j] = T0[i]`, where A is marked, T0 is an input and t has no other use: fills
  // contain no Let.
  Statements withInlinedLoads(const Statements& body) const {
    std::map<const kir::Variable*, int> uses;
    kir::visitStatements(body, [&](const Statement& each) {
      for (const kir::Value* value : kir::valuesOf(each)) {
        if (value->kind == kir::ValueKind::Variable) ++uses[value->variable.get()];
      }
    });
    std::map<const kir::Variable*, kir::ValueRef> loads;
    std::set<const kir::Variable*> inlined;
    for (const StatementRef& each : body) {
      const auto* let = std::get_if<kir::Let>(&each->node);
      if (let != nullptr && let->index == nullptr && let->value->kind == kir::ValueKind::Load &&
          kir::isGlobal(*let->value->tensor) && !written_.contains(let->value->tensor) &&
          uses[let->variable.get()] == 1)
        loads[let->variable.get()] = let->value;
      const auto* store = std::get_if<Store>(&each->node);
      if (store != nullptr && isFilledAhead(*store->tensor) && store->value->kind == kir::ValueKind::Variable &&
          loads.contains(store->value->variable.get()))
        inlined.insert(store->value->variable.get());
    }
    Statements result;
    for (const StatementRef& each : body) {
      const auto* let = std::get_if<kir::Let>(&each->node);
      const auto* store = std::get_if<Store>(&each->node);
      if (let != nullptr && inlined.contains(let->variable.get())) continue;
      const bool is_inlined = store != nullptr && store->value->kind == kir::ValueKind::Variable &&
                              inlined.contains(store->value->variable.get());
      result.push_back(
          is_inlined ? statement(Store{store->tensor, store->index, loads.at(store->value->variable.get())}) : each);
    }
    return result;
  }

  // Allocates all stages as one shared tensor, and moves each fill `prefetch` iterations ahead. `before`: the
  // statements before the loop.
  void prefetchToShared(Loop& loop, const Tensors& tensors, Statements& before) {
    const auto [stages, prefetch] = *(*tensors.begin())->circularBuffer();
    staged_.insert(tensors.begin(), tensors.end());
    const std::vector<Statements> fills = fillsOf(loop.body, tensors);
    std::map<const TensorView*, Scalar*> sizes;
    for (const StatementRef& each : loop.body) {
      const auto* allocate = std::get_if<Allocate>(&each->node);
      if (allocate == nullptr || !tensors.contains(allocate->tensor)) continue;
      sizes[allocate->tensor] = allocate->size;
      before.push_back(statement(Allocate{allocate->tensor, fusion_.mul(fusion_.constant(stages), allocate->size)}));
    }
    const auto inStage = [&](const Statements& statements, Scalar* iteration) {
      return kir::withIndices(statements, [&](const TensorView& tensor, Scalar* index) {
        const auto size = sizes.find(&tensor);
        if (size == sizes.end()) return index;
        Scalar* stage = fusion_.scalar(ScalarOp::Mod, iteration, fusion_.constant(stages));
        return fusion_.add(fusion_.mul(simplify(stage, analysis_), size->second), index);
      });
    };
    const auto begin = [&](const Statements& fill, Scalar* iteration, Statements& into) {
      Statements whole = inStage(at(fill, loop, iteration), iteration);
      append(into, onlyIf(fusion_.scalar(ScalarOp::Less, iteration, loop.stop), std::move(whole)));
      into.push_back(statement(CopyGroup{CopyGroup::Step::Commit, 0}));
    };
    // A loop around may run again: threads may still read the last stages.
    if (std::ranges::any_of(loop.body,
                            [](const auto& each) { return std::holds_alternative<kir::Barrier>(each->node); }))
      before.push_back(statement(kir::Barrier{}));
    for (int64_t iteration = 0; iteration < prefetch; ++iteration) {
      for (const Statements& fill : fills) begin(fill, fusion_.add(loop.start, fusion_.constant(iteration)), before);
    }
    Statements body;
    size_t next = 0;
    bool is_in_fill = false;
    for (const StatementRef& each : loop.body) {
      const auto* allocate = std::get_if<Allocate>(&each->node);
      if (allocate != nullptr && tensors.contains(allocate->tensor)) continue;
      const bool is_fill = isFill(*each, tensors);
      if (is_fill && !is_in_fill) {
        begin(fills[next++], fusion_.add(loop.index, fusion_.constant(prefetch)), body);
        body.push_back(statement(CopyGroup{CopyGroup::Step::Wait, prefetch * static_cast<int64_t>(fills.size())}));
      }
      is_in_fill = is_fill;
      if (!is_fill) append(body, inStage({each}, loop.index));
    }
    loop.body = std::move(body);
  }

  // The runs of statements that fill the tensors, with at most allocations in between.
  std::vector<Statements> fillsOf(const Statements& body, const Tensors& tensors) const {
    std::vector<Statements> fills;
    bool is_in_fill = false;
    for (const StatementRef& each : body) {
      const auto* allocate = std::get_if<Allocate>(&each->node);
      if (allocate != nullptr && tensors.contains(allocate->tensor)) continue;
      const bool is_fill = isFill(*each, tensors);
      if (is_fill && !is_in_fill) fills.emplace_back();
      if (is_fill) fills.back().push_back(each);
      is_in_fill = is_fill;
    }
    return fills;
  }

  // Loads the next iteration's elements into a second tensor. `before`: the statements before the loop.
  void prefetchToRegisters(Loop& loop, const Tensors& tensors, Statements& before) {
    next_.clear();
    for (const StatementRef& each : loop.body) {
      const auto* allocate = std::get_if<Allocate>(&each->node);
      if (allocate == nullptr || !tensors.contains(allocate->tensor)) continue;
      TensorView* next = fusion_.tensor(allocate->tensor->dtype(), allocate->tensor->logical());
      next->setMemoryType(MemoryType::Local);
      next_[allocate->tensor] = next;
      before.push_back(statement(Allocate{next, allocate->size}));
    }
    Scalar* one = fusion_.constant(1);
    Scalar* following = fusion_.add(loop.index, one);
    Statements body;
    for (const StatementRef& each : loop.body) {
      if (!isFill(*each, tensors)) {
        body.push_back(each);
        continue;
      }
      const Statements fill = fillOfNext({each});
      append(before, onlyIf(fusion_.scalar(ScalarOp::Less, loop.start, loop.stop), at(fill, loop, loop.start)));
      append(body, withOwnIndices(copyFromNext({each})));
      append(body, onlyIf(fusion_.scalar(ScalarOp::Less, following, loop.stop), at(fill, loop, following)));
    }
    loop.body = std::move(body);
  }

  // The tensors of this kind that statements of the loop's body fill from inputs alone.
  Tensors filledFromInputs(const Loop& loop, const TensorView& kind) const {
    Tensors tensors;
    for (const StatementRef& each : loop.body) {
      const auto* allocate = std::get_if<Allocate>(&each->node);
      if (allocate != nullptr && haveOneForm(*allocate->tensor, kind) && allocations_.at(allocate->tensor) == 1)
        tensors.insert(allocate->tensor);
    }
    // Drops tensors that other statements write, until no more are found: a fill of a dropped tensor is another
    // statement, too.
    for (size_t before = 0; before != tensors.size();) {
      before = tensors.size();
      Tensors filled;
      for (const StatementRef& each : loop.body) {
        const bool is_fill = isFill(*each, tensors);
        kir::visitStatements({each}, [&](const Statement& inner) {
          const TensorView* written = kir::writtenBy(inner);
          if (written != nullptr && is_fill) filled.insert(written);
        });
      }
      for (const StatementRef& each : loop.body) {
        if (isFill(*each, tensors)) continue;
        kir::visitStatements({each}, [&](const Statement& inner) {
          if (const TensorView* written = kir::writtenBy(inner)) filled.erase(written);
        });
      }
      std::erase_if(tensors, [&](const TensorView* tensor) { return !filled.contains(tensor); });
      for (const TensorView* tensor : filledTwice(loop, tensors)) tensors.erase(tensor);
    }
    return tensors;
  }

  // The tensors that several runs of statements fill: reads in between see other elements than reads after them.
  Tensors filledTwice(const Loop& loop, const Tensors& tensors) const {
    Tensors seen;
    Tensors twice;
    for (const Statements& fill : fillsOf(loop.body, tensors)) {
      Tensors here;
      kir::visitStatements(fill, [&](const Statement& inside) {
        if (const TensorView* written = kir::writtenBy(inside)) here.insert(written);
      });
      for (const TensorView* tensor : here) {
        if (!seen.insert(tensor).second) twice.insert(tensor);
      }
    }
    return twice;
  }

  // Whether the statement only fills some of the tensors from inputs.
  bool isFill(const Statement& each, const Tensors& tensors) const {
    bool is_fill = !std::holds_alternative<Allocate>(each.node) && !std::holds_alternative<kir::Let>(each.node);
    bool writes = false;
    std::set<const kir::Variable*> own;
    kir::visitStatements({std::make_shared<const Statement>(each)}, [&](const Statement& inner) {
      if (const auto* let = std::get_if<kir::Let>(&inner.node)) own.insert(let->variable.get());
      const bool is_structure = std::holds_alternative<Loop>(inner.node) || std::holds_alternative<If>(inner.node) ||
                                std::holds_alternative<kir::Let>(inner.node);
      const auto* store = std::get_if<Store>(&inner.node);
      is_fill = is_fill && (is_structure || (store != nullptr && tensors.contains(store->tensor)));
      writes = writes || store != nullptr;
      for (const kir::Value* value : kir::valuesOf(inner)) {
        const bool reads_input =
            value->kind == kir::ValueKind::Load && kir::isGlobal(*value->tensor) && !written_.contains(value->tensor);
        const bool is_own = value->kind == kir::ValueKind::Variable && own.contains(value->variable.get());
        is_fill = is_fill && (value->kind != kir::ValueKind::Load || reads_input) &&
                  (value->kind != kir::ValueKind::Variable || is_own);
      }
    });
    return is_fill && writes && !mentionsPositionsOfIteration(each);
  }

  // Whether it uses indices that other statements load in this iteration: these are not known an iteration earlier.
  bool mentionsPositionsOfIteration(const Statement& each) const {
    const Statements whole = {std::make_shared<const Statement>(each)};
    const std::set<const Scalar*> own = kir::indicesIn(whole);
    std::set<const Scalar*> others;
    for (const Scalar* position : positions_) {
      if (!own.contains(position)) others.insert(position);
    }
    bool found = false;
    kir::visitScalars(whole, [&](const Scalar& scalar) { found |= kir::mentionsAny(scalar, others); });
    return found;
  }

  // The fill, with stores to the next iteration's tensors.
  Statements fillOfNext(const Statements& fill) const {
    return kir::withLeaves(fill, [&](const StatementRef& each) {
      const auto* store = std::get_if<Store>(&each->node);
      return store == nullptr ? each : statement(Store{next_.at(store->tensor), store->index, store->value});
    });
  }

  // Copies from the next iteration's tensors to this one's, without the values that were loaded.
  Statements copyFromNext(const Statements& fill) const {
    return kir::withLeaves(fill, [&](const StatementRef& each) -> StatementRef {
      const auto* store = std::get_if<Store>(&each->node);
      if (store == nullptr) return nullptr;
      return statement(Store{store->tensor, store->index, kir::load(*next_.at(store->tensor), store->index)});
    });
  }

  Statements at(const Statements& fill, const Loop& loop, Scalar* index) {
    Substitution there(fusion_);
    there.set(*loop.index, index);
    return withOwnIndices(kir::withScalars(fill, [&](Scalar* scalar) { return simplify(there(scalar), analysis_); }));
  }

  // Copies of loops get indices of their own.
  Statements withOwnIndices(const Statements& statements) {
    Substitution fresh(fusion_);
    kir::visitStatements(statements, [&](const Statement& each) {
      const auto copy = [&](Scalar* index, Scalar* stop) {
        Scalar* own = fusion_.symbol(index->name());
        analysis_.assumeIndex(*own, *stop);
        fresh.set(*index, own);
      };
      if (const auto* loop = std::get_if<Loop>(&each.node)) copy(loop->index, loop->stop);
      const auto* let = std::get_if<kir::Let>(&each.node);
      if (let != nullptr && let->index != nullptr) copy(let->index, let->extent);
    });
    return kir::withScalars(statements, [&](Scalar* scalar) { return fresh(scalar); });
  }

  Statements onlyIf(Scalar* predicate, Statements statements) {
    predicate = simplify(predicate, analysis_);
    const auto truth = predicate->isConstant() ? std::optional(asInt(predicate->value()) != 0) : std::nullopt;
    if (truth) return *truth ? std::move(statements) : Statements{};
    return {statement(If{predicate, std::move(statements)})};
  }

  static void append(Statements& to, Statements from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  }

  Fusion& fusion_;
  IntervalAnalysis analysis_;
  Tensors written_;
  std::map<const TensorView*, int> allocations_;
  std::set<const Scalar*> positions_;
  Tensors staged_;
  std::map<const TensorView*, TensorView*> next_;  // where the next iteration's elements are
};

}  // namespace

kir::Kernel circularBuffers(kir::Kernel kernel) {
  CircularBuffering rotation(kernel);
  kernel.body = rotation.rewrite(kernel.body);
  rotation.dropUnusedMarks();
  return kernel;
}

}  // namespace tokamak
