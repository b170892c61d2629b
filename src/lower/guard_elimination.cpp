#include "lower/guard_elimination.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/substitute.h"
#include "compute/element.h"
#include "kernel/index_assumptions.h"
#include "kernel/rewrite.h"
#include "symbolic/interval_analysis.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

using kir::Barrier;
using kir::BlockReduce;
using kir::If;
using kir::Kernel;
using kir::Loop;
using kir::Statement;
using kir::statement;
using kir::StatementRef;
using kir::Statements;
using kir::visitStatements;
using kir::withScalars;

bool isForAllThreads(const Statements& statements) {
  bool found = false;
  visitStatements(statements, [&](const Statement& statement) {
    found |= std::holds_alternative<Barrier>(statement.node) || std::holds_alternative<BlockReduce>(statement.node);
    found |= std::holds_alternative<kir::ClusterBarrier>(statement.node);
    const auto* allocate = std::get_if<kir::Allocate>(&statement.node);
    found |= allocate != nullptr && allocate->tensor->memoryType() == MemoryType::Shared;
  });
  return found;
}

class GuardEliminator {
 public:
  explicit GuardEliminator(const Kernel& kernel) : fusion_(*kernel.fusion) { kir::assumeIndices(kernel, analysis_); }

  Statements rewrite(const Statements& statements) {
    return kir::withLoops(statements, [&](const Loop& loop, Statements& result) {
      for (Loop& part : split(loop)) {
        part.body = rewrite(part.body);
        result.push_back(tightened(std::move(part)));
      }
    });
  }

 private:
  StatementRef tightened(Loop loop) {
    const If* guard = loop.body.size() == 1 ? std::get_if<If>(&loop.body[0]->node) : nullptr;
    if (guard == nullptr || isForAllThreads(loop.body)) return statement(std::move(loop));
    Scalar* outside = nullptr;
    Scalar* inside = nullptr;
    std::vector<Scalar*> conjuncts;
    collect(guard->predicate, conjuncts);
    for (Scalar* conjunct : conjuncts) {
      if (!mentions(*conjunct, *loop.index)) {
        outside = both(outside, conjunct);
      } else if (Scalar* stop = loop.type == ParallelType::Serial ? firstFailure(*conjunct, *loop.index) : nullptr) {
        loop.stop = simplify(fusion_.scalar(ScalarOp::Min, loop.stop, stop), analysis_);
      } else {
        inside = both(inside, conjunct);
      }
    }
    Statements body = guard->body;
    if (inside != nullptr) body = {statement(If{inside, std::move(body)})};
    loop.body = std::move(body);
    StatementRef result = statement(std::move(loop));
    return outside == nullptr ? result : statement(If{outside, {std::move(result)}});
  }

  // The loop, or its two parts: one in which guards over constant inner loops always hold, and the rest.
  std::vector<Loop> split(const Loop& loop) {
    if (loop.type != ParallelType::Serial || isForAllThreads(loop.body)) return {loop};
    Inner inner;
    find(loop.body, *loop.index, inner);
    if (inner.indices.empty() || inner.guards.empty()) return {loop};
    Scalar* last = loop.stop;
    std::set<Scalar*> always;
    for (Scalar* guard : inner.guards) {
      Substitution at_last(fusion_);
      for (const auto& [index, extent] : inner.indices) at_last.set(*index, fusion_.sub(extent, fusion_.constant(1)));
      Scalar* worst = simplify(at_last(guard), analysis_);
      if (!growsWith(*guard, inner) || worst->isConstant()) continue;
      Scalar* failure = firstFailure(*worst, *loop.index);
      if (failure == nullptr) continue;
      always.insert(guard);
      last = simplify(fusion_.scalar(ScalarOp::Min, last, failure), analysis_);
    }
    if (always.empty()) return {loop};
    last = simplify(fusion_.scalar(ScalarOp::Max, last, loop.start), analysis_);
    Loop whole = loop;
    whole.stop = last;
    whole.body = without(loop.body, always);
    Loop rest = loop;
    rest.start = last;
    Substitution fresh(fusion_);
    const auto copyIndex = [&](Scalar* index, Scalar* stop) {
      Scalar* copy = fusion_.symbol(index->name());
      analysis_.assumeIndex(*copy, *stop);
      fresh.set(*index, copy);
    };
    copyIndex(loop.index, loop.stop);
    visitStatements(loop.body, [&](const Statement& statement) {
      if (const auto* nested = std::get_if<Loop>(&statement.node)) copyIndex(nested->index, nested->stop);
      const auto* let = std::get_if<kir::Let>(&statement.node);
      if (let != nullptr && let->index != nullptr) copyIndex(let->index, let->extent);
    });
    rest.index = fresh(loop.index);
    rest.body = withScalars(loop.body, [&](Scalar* scalar) { return fresh(scalar); });
    return {std::move(whole), std::move(rest)};
  }

  // The inner loops of constant length, and conjuncts of guards that depend on them and on the outer index.
  struct Inner {
    std::map<Scalar*, Scalar*> indices;  // inner index -> length
    std::set<Scalar*> guards;
  };
  void find(const Statements& statements, const Scalar& index, Inner& inner) {
    for (const StatementRef& statement : statements) {
      if (const auto* loop = std::get_if<Loop>(&statement->node)) {
        if (!loop->start->isConstantInt(0) || !loop->stop->isConstant()) continue;
        inner.indices[loop->index] = loop->stop;
        find(loop->body, index, inner);
      } else if (const auto* guard = std::get_if<If>(&statement->node)) {
        std::vector<Scalar*> conjuncts;
        collect(guard->predicate, conjuncts);
        for (Scalar* conjunct : conjuncts) {
          const bool is_inner =
              std::ranges::any_of(inner.indices, [&](const auto& known) { return mentions(*conjunct, *known.first); });
          if (is_inner && mentions(*conjunct, index)) inner.guards.insert(conjunct);
        }
        find(guard->body, index, inner);
      }
    }
  }

  // Whether the predicate holds for all inner indices if it holds for the largest ones.
  bool growsWith(Scalar& predicate, const Inner& inner) {
    if (predicate.op() != ScalarOp::Less) return false;
    return std::ranges::all_of(inner.indices, [&](const auto& known) {
      Scalar& index = *known.first;
      if (mentions(*predicate.operand(1), index)) return false;
      if (!mentions(*predicate.operand(0), index)) return true;
      Scalar* left = predicate.operand(0);
      Scalar* step = simplify(fusion_.sub(at(left, index, fusion_.add(&index, fusion_.constant(1))), left), analysis_);
      return step->constantInt().value_or(-1) >= 0;
    });
  }

  Statements without(const Statements& statements, const std::set<Scalar*>& always) {
    Statements result;
    for (const StatementRef& each : statements) {
      if (const auto* loop = std::get_if<Loop>(&each->node)) {
        Loop copy = *loop;
        copy.body = without(loop->body, always);
        result.push_back(statement(std::move(copy)));
      } else if (const auto* guard = std::get_if<If>(&each->node)) {
        std::vector<Scalar*> conjuncts;
        collect(guard->predicate, conjuncts);
        Scalar* left = nullptr;
        for (Scalar* conjunct : conjuncts) {
          if (!always.contains(conjunct)) left = both(left, conjunct);
        }
        Statements body = without(guard->body, always);
        if (left != nullptr)
          result.push_back(statement(If{left, std::move(body)}));
        else
          result.insert(result.end(), body.begin(), body.end());
      } else {
        result.push_back(each);
      }
    }
    return result;
  }

  static void collect(Scalar* predicate, std::vector<Scalar*>& into) {
    if (predicate->op() != ScalarOp::And) {
      into.push_back(predicate);
      return;
    }
    collect(predicate->operand(0), into);
    collect(predicate->operand(1), into);
  }

  Scalar* both(Scalar* a, Scalar* b) { return a == nullptr ? b : fusion_.scalar(ScalarOp::And, a, b); }

  // The smallest index at which the predicate fails, if it is index * c + d < e with c > 0; else null.
  Scalar* firstFailure(Scalar& predicate, Scalar& index) {
    if (predicate.op() != ScalarOp::Less || mentions(*predicate.operand(1), index)) return nullptr;
    Scalar* left = predicate.operand(0);
    Scalar* at_zero = at(left, index, fusion_.constant(0));
    Scalar* step = simplify(fusion_.sub(at(left, index, fusion_.add(&index, fusion_.constant(1))), left), analysis_);
    const auto c = step->constantInt();
    if (!c || *c <= 0) return nullptr;
    return simplify(fusion_.ceilDiv(fusion_.sub(predicate.operand(1), at_zero), step), analysis_);
  }

  Scalar* at(Scalar* scalar, const Scalar& index, Scalar* value) {
    Substitution substitution(fusion_);
    substitution.set(index, value);
    return simplify(substitution(scalar), analysis_);
  }

  Fusion& fusion_;
  IntervalAnalysis analysis_;
};

}  // namespace

Kernel guardElimination(Kernel kernel) {
  kernel.body = GuardEliminator(kernel).rewrite(kernel.body);
  return kernel;
}

}  // namespace tokamak
