#include "lower/unswitch_loops.h"

#include <algorithm>
#include <optional>
#include <set>

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
using kir::Statement;
using kir::Statements;
using kir::Value;
using kir::ValueKind;

// The number of operations and loads.
int64_t workOf(const Statements& statements) {
  int64_t work = 0;
  kir::visitStatements(statements, [&](const Statement& statement) {
    work += std::ranges::count_if(kir::valuesOf(statement), [](const Value* each) {
      return each->kind == ValueKind::Apply || each->kind == ValueKind::Cast || each->kind == ValueKind::Load;
    });
  });
  return work;
}

class LoopUnswitcher {
 public:
  explicit LoopUnswitcher(const kir::Kernel& kernel) : fusion_(*kernel.fusion) {
    kir::assumeIndices(kernel, analysis_);
    for (const LaunchDimension& dimension : kernel.dimensions) {
      if (kir::isThreadType(dimension.type)) threads_.insert(dimension.index);
    }
  }

  Statements rewrite(const Statements& statements) {
    return kir::withLoops(statements, [&](const Loop& loop, Statements& result) {
      if (loop.type == ParallelType::Vectorize) return unswitch(loop, kMostParts, result);
      Loop copy = loop;
      copy.body = rewrite(loop.body);
      result.push_back(kir::statement(std::move(copy)));
    });
  }

 private:
  using LaunchDimension = kir::LaunchDimension;

  static constexpr int kMostParts = 6;
  static constexpr int64_t kNeighbours = 8;
  // The most work that the parts may have on average, in percent of the loop's.
  static constexpr int64_t kMostRemaining = 85;
  static constexpr int64_t kLeastWork = 8;

  struct Parts {
    Scalar* comparison = nullptr;
    Loop where_true;
    Loop where_false;
    int64_t work = 0;  // of both loops
  };

  // Appends at most `most` loops to `result`.
  void unswitch(const Loop& loop, int most, Statements& result) {
    const std::optional<Parts> parts = most > 1 ? findParts(loop) : std::nullopt;
    if (!parts) return result.push_back(kir::statement(loop));
    // The larger part may be split more often.
    const int of_true = workOf(parts->where_true.body) > workOf(parts->where_false.body) ? most - most / 3 : most / 3;
    kir::If holds{parts->comparison, {}};
    kir::If fails{simplify(fusion_.scalar(ScalarOp::Not, parts->comparison), analysis_), {}};
    unswitch(parts->where_true, of_true, holds.body);
    unswitch(parts->where_false, most - of_true, fails.body);
    result.push_back(kir::statement(std::move(holds)));
    result.push_back(kir::statement(std::move(fails)));
  }

  std::optional<Parts> findParts(const Loop& loop) {
    const int64_t work = workOf(loop.body);
    if (work < kLeastWork) return std::nullopt;
    std::set<const Scalar*> inside = kir::indicesIn(loop.body);
    inside.insert(loop.index);
    std::vector<Scalar*> candidates;
    visitChoices(loop.body, [&](Scalar& predicate) {
      visitNodesOf(predicate, [&](Scalar& scalar) {
        const bool is_comparison = scalar.op() == ScalarOp::Less || scalar.op() == ScalarOp::LessEqual;
        if (!is_comparison || std::ranges::find(candidates, &scalar) != candidates.end()) return;
        if (std::ranges::any_of(inside, [&](const Scalar* index) { return mentions(scalar, *index); })) return;
        if (isSharedByNeighbours(scalar)) candidates.push_back(&scalar);
      });
    });
    std::optional<Parts> best;
    for (Scalar* comparison : candidates) {
      Parts parts{comparison, knowing(loop, comparison, true), knowing(loop, comparison, false)};
      const int64_t where_true = workOf(parts.where_true.body);
      const int64_t where_false = workOf(parts.where_false.body);
      parts.work = where_true + where_false;
      if (parts.work * 100 > 2 * work * kMostRemaining) continue;
      if (!best || parts.work < best->work) best = std::move(parts);
    }
    return best;
  }

  bool isSharedByNeighbours(const Scalar& scalar) const {
    if (threads_.contains(&scalar)) return false;
    if (scalar.op() == ScalarOp::FloorDiv && scalar.operand(1)->constantInt().value_or(0) >= kNeighbours) return true;
    return std::ranges::all_of(scalar.operands(),
                               [&](const Scalar* operand) { return isSharedByNeighbours(*operand); });
  }

  Loop knowing(const Loop& loop, Scalar* comparison, bool holds) {
    Loop result = loopGiven(loop, loop.start, loop.stop, {comparison, holds}, fusion_, analysis_);
    result.body = withoutUnusedValues(result.body);
    return result;
  }

  Fusion& fusion_;
  IntervalAnalysis analysis_;
  std::set<const Scalar*> threads_;
};

}  // namespace

kir::Kernel unswitchLoops(kir::Kernel kernel) {
  if (!kernel.hasThreads()) return kernel;
  kernel.body = LoopUnswitcher(kernel).rewrite(kernel.body);
  return kernel;
}

}  // namespace tokamak
