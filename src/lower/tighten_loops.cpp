#include "lower/tighten_loops.h"

#include "analysis/substitute.h"
#include "compute/element.h"
#include "ir/interval_analysis.h"
#include "ir/scalar_simplifier.h"

namespace tokamak {

namespace {

using namespace kir;

bool isForAllThreads(const Statements& statements) {
  bool found = false;
  visitStatements(statements, [&](const Statement& statement) {
    found |= std::holds_alternative<Barrier>(statement.node) || std::holds_alternative<Combine>(statement.node);
  });
  return found;
}

class Tightener {
 public:
  explicit Tightener(Kernel& kernel) : kernel_(kernel), fusion_(*kernel.fusion) {
    analysis_.assumeExtents(fusion_);
    for (const LaunchDimension& dimension : kernel.dimensions)
      analysis_.assumeIndex(*dimension.index, *dimension.extent);
    visitStatements(kernel.body, [&](const Statement& statement) {
      const auto* loop = std::get_if<Loop>(&statement.node);
      if (loop != nullptr && loop->start->isConstantInt(0)) analysis_.assumeIndex(*loop->index, *loop->stop);
    });
  }

  Statements rewrite(const Statements& statements) {
    Statements result;
    for (const StatementRef& statement : statements) {
      if (const auto* loop = std::get_if<Loop>(&statement->node)) {
        Loop copy = *loop;
        copy.body = rewrite(loop->body);
        result.push_back(tightened(std::move(copy)));
      } else if (const auto* guard = std::get_if<If>(&statement->node)) {
        result.push_back(kir::statement(If{guard->predicate, rewrite(guard->body)}));
      } else {
        result.push_back(statement);
      }
    }
    return result;
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

  static void collect(Scalar* predicate, std::vector<Scalar*>& into) {
    if (predicate->op() != ScalarOp::And) {
      into.push_back(predicate);
      return;
    }
    collect(predicate->operand(0), into);
    collect(predicate->operand(1), into);
  }

  Scalar* both(Scalar* a, Scalar* b) { return a == nullptr ? b : fusion_.scalar(ScalarOp::And, a, b); }

  // The smallest index from which on the predicate does not hold, if it is index * c + d < e with c > 0; else null.
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

  Kernel& kernel_;
  Fusion& fusion_;
  IntervalAnalysis analysis_;
};

}  // namespace

Kernel tightenLoops(Kernel kernel) {
  kernel.body = Tightener(kernel).rewrite(kernel.body);
  return kernel;
}

}  // namespace tokamak
