#include "lower/index_set_splitting.h"

#include <algorithm>
#include <optional>
#include <set>

#include "analysis/substitute.h"
#include "compute/element.h"
#include "kernel/index_assumptions.h"
#include "kernel/kernel_walk.h"
#include "kernel/rewrite.h"
#include "lower/predicate_folding.h"
#include "symbolic/interval_analysis.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

using kir::Loop;
using kir::StatementRef;
using kir::Statements;

class IndexSetSplitter {
 public:
  explicit IndexSetSplitter(const kir::Kernel& kernel) : fusion_(*kernel.fusion) {
    kir::assumeIndices(kernel, analysis_);
  }

  Statements rewrite(const Statements& statements) {
    return kir::withLoops(statements, [&](const Loop& loop, Statements& result) {
      Budget budget{.statements = statementsOf(loop) * (kMostCopies - 1)};
      for (StatementRef& part : split(loop, budget)) result.push_back(std::move(part));
    });
  }

 private:
  static constexpr int kMostParts = 8;
  static constexpr int kMostSplits = 32;  // of a kernel
  // Parts of a loop with nested choices would have nearly all of its statements each: they are not worth it.
  static constexpr int64_t kMostCopies = 2;

  // How much a loop may still grow.
  struct Budget {
    int parts = kMostParts - 1;
    int64_t statements = 0;
  };

  // A comparison, and the index from which on its value differs.
  struct SplitPoint {
    Scalar* comparison = nullptr;
    Scalar* at = nullptr;
    bool holds_before = false;
  };

  Statements split(Loop loop, Budget& budget) {
    if (loop.start == loop.stop) return {};
    if (loop.type == ParallelType::Serial) {
      if (const auto width = commonDivisor(loop)) return {kir::statement(nested(loop, *width))};
      const bool may_split = budget.parts > 0 && splits_ < kMostSplits;
      if (const auto found = may_split ? findSplitPoint(loop) : std::nullopt) {
        Loop before = knowing(loop, loop.start, found->at, {found->comparison, found->holds_before});
        Loop after = knowing(loop, found->at, loop.stop, {found->comparison, !found->holds_before});
        const int64_t added = statementsOf(before) + statementsOf(after) - statementsOf(loop);
        if (added <= budget.statements) {
          budget.statements -= added;
          --budget.parts;
          ++splits_;
          Statements result = split(std::move(before), budget);
          for (StatementRef& each : split(std::move(after), budget)) result.push_back(std::move(each));
          return result;
        }
      }
    }
    loop.body = rewrite(foldChoices(loop.body));
    return {kir::statement(std::move(loop))};
  }

  Loop knowing(const Loop& loop, Scalar* start, Scalar* stop, KnownComparison fact) {
    Loop result = loopGiven(loop, start, stop, fact, fusion_, analysis_);
    result.body = withoutUnusedValues(result.body);
    return result;
  }

  static int64_t statementsOf(const Loop& loop) {
    int64_t count = 0;
    kir::visitStatements(loop.body, [&](const kir::Statement&) { ++count; });
    return count;
  }

  // The largest number that choices divide the index by, if the loop is a multiple of it.
  std::optional<int64_t> commonDivisor(const Loop& loop) {
    const auto length = loop.stop->constantInt();
    if (!loop.start->isConstantInt(0) || !length) return std::nullopt;
    int64_t best = 1;
    visitChoices(loop.body, [&](Scalar& predicate) {
      visitNodesOf(predicate, [&](Scalar& scalar) {
        if (scalar.op() != ScalarOp::FloorDiv && scalar.op() != ScalarOp::Mod) return;
        const auto divisor = scalar.operand(1)->constantInt();
        if (scalar.operand(0) == loop.index && divisor && *divisor < *length && *length % *divisor == 0)
          best = std::max(best, *divisor);
      });
    });
    return best > 1 ? std::optional(best) : std::nullopt;
  }

  Loop nested(const Loop& loop, int64_t width) {
    Scalar* inner_stop = fusion_.constant(width);
    Scalar* outer_stop = fusion_.constant(*loop.stop->constantInt() / width);
    Scalar* outer = indexLike(*loop.index, *outer_stop, fusion_, analysis_);
    Scalar* inner = indexLike(*loop.index, *inner_stop, fusion_, analysis_);
    Substitution parts(fusion_);
    parts.set(*loop.index, fusion_.add(fusion_.mul(outer, inner_stop), inner));
    Loop inside{inner, fusion_.constant(0), inner_stop, loop.type, kir::withScalars(loop.body, [&](Scalar* scalar) {
                  return simplifyRemainders(parts(scalar), analysis_);
                })};
    Loop result{outer, fusion_.constant(0), outer_stop, loop.type, {kir::statement(std::move(inside))}};
    Budget budget{.statements = statementsOf(result) * (kMostCopies - 1)};
    Statements body = split(std::move(result), budget);
    // The outer loop may have been split, too: a loop of one iteration holds the parts.
    if (body.size() == 1) {
      if (const auto* only = std::get_if<Loop>(&body[0]->node)) return *only;
    }
    Scalar* once = fusion_.constant(1);
    return Loop{indexLike(*loop.index, *once, fusion_, analysis_), fusion_.constant(0), once, loop.type,
                std::move(body)};
  }

  std::optional<SplitPoint> findSplitPoint(const Loop& loop) {
    const std::set<const Scalar*> inside = kir::indicesIn(loop.body);
    std::optional<SplitPoint> found;
    visitChoices(loop.body, [&](Scalar& predicate) {
      visitNodesOf(predicate, [&](Scalar& scalar) {
        if (found || !mentions(scalar, *loop.index)) return;
        if (std::ranges::any_of(inside, [&](const Scalar* index) { return mentions(scalar, *index); })) return;
        found = splitPointOf(scalar, loop);
      });
    });
    return found;
  }

  std::optional<SplitPoint> splitPointOf(Scalar& comparison, const Loop& loop) {
    if (comparison.op() != ScalarOp::Less && comparison.op() != ScalarOp::LessEqual) return std::nullopt;
    Scalar* margin = marginOf(comparison, fusion_);
    Scalar* at_zero = at(margin, *loop.index, fusion_.constant(0));
    Scalar* next = at(margin, *loop.index, fusion_.add(loop.index, fusion_.constant(1)));
    const auto step = simplify(fusion_.sub(next, margin), analysis_)->constantInt();
    if (!step || (*step != 1 && *step != -1)) return std::nullopt;
    Scalar* change = *step < 0 ? at_zero : fusion_.sub(fusion_.constant(1), at_zero);
    if (mentions(*change, *loop.index)) return std::nullopt;
    // (The stop of a loop that does not run may be less than the start.)
    Scalar* position = fusion_.scalar(ScalarOp::Max, fusion_.scalar(ScalarOp::Min, change, loop.stop), loop.start);
    return SplitPoint{&comparison, simplify(position, analysis_), *step < 0};
  }

  Scalar* at(Scalar* scalar, const Scalar& index, Scalar* value) {
    Substitution substitution(fusion_);
    substitution.set(index, value);
    return simplify(substitution(scalar), analysis_);
  }

  Fusion& fusion_;
  IntervalAnalysis analysis_;
  int splits_ = 0;
};

bool hasChoices(const kir::Kernel& kernel) {
  bool found = false;
  visitChoices(kernel.body, [&](Scalar&) { found = true; });
  return found;
}

}  // namespace

kir::Kernel indexSetSplitting(kir::Kernel kernel) {
  if (kernel.hasThreads() || !hasChoices(kernel)) return kernel;
  kernel.body = withoutUnusedValues(IndexSetSplitter(kernel).rewrite(kernel.body));
  return kernel;
}

}  // namespace tokamak
