#include "schedule/propagate.h"

#include <algorithm>
#include <ranges>
#include <set>

#include "analysis/domain_graph.h"
#include "define/operand.h"
#include "schedule/inline.h"
#include "schedule/loop_steps.h"
#include "schedule/shared_loops.h"
#include "schedule/transform_replay.h"
#include "schedule/transforms.h"

namespace tokamak {

namespace {

// Applies the steps that made this axis to `loop`, which has the shape's axes.
void redoSteps(const IterDomain& axis, Axes& loop) {
  const DomainExpr* step = axis.definition();
  if (step == nullptr || std::ranges::find(loop, &axis) != loop.end()) return;
  for (const IterDomain* in : step->in) {
    if (in != nullptr) redoSteps(*in, loop);
  }
  replaceAxes(loop, *step);
}

/// Whether the loops are in another order than splits and merges alone would give.
bool isReordered(const TensorView& tensor) {
  Axes loop = tensor.logical();
  for (const IterDomain* axis : tensor.loop()) redoSteps(*axis, loop);
  return loop != tensor.loop();
}

AxisPairs pairsOf(const DomainGraph& graph, const Expr& expr, const TensorView& consumer, const TensorView& producer) {
  AxisPairs pairs;
  for (const IterDomain* axis : computedAxes(consumer)) {
    IterDomain* own = graph.producerAxis(expr, producer, *axis, AxisMapping::Reduction);
    // (Every iteration reads all of a broadcast axis.)
    if (own != nullptr && own->isBroadcast() == axis->isBroadcast()) pairs.emplace_back(axis, own);
  }
  return pairs;
}

// Puts the mapped axes into the consumer's order, within the positions that they have; others do not move.
bool arrangeLike(TensorView& producer, const Axes& mapped) {
  Axes order = producer.loop();
  size_t next = 0;
  for (IterDomain*& axis : order) {
    if (std::ranges::find(mapped, axis) != mapped.end()) axis = mapped[next++];
  }
  if (order == producer.loop() || !keepsVectorInnermost(producer, order)) return false;
  producer.mutableDomain().loop = std::move(order);
  return true;
}

// Propagates from a result of the expression to an operand. Returns whether the operand's schedule changed.
bool propagateThrough(const DomainGraph& graph, const Expr& expr, const TensorView& consumer, TensorView& producer) {
  TransformReplay replay(producer, pairsOf(graph, expr, consumer, producer), TransformReplay::Mode::Make);
  replay.follow(consumer.loop());
  bool has_changed = replay.hasMadeSteps();
  Axes mapped;
  for (const IterDomain* axis : consumer.loop()) {
    IterDomain* own = replay.loopAxisAt(*axis);
    if (own == nullptr) continue;
    mapped.push_back(own);
    if (axis->parallelType() == ParallelType::Serial || own->parallelType() != ParallelType::Serial) continue;
    if (!markProblem(producer, *own, axis->parallelType()).empty()) continue;
    own->parallelize(axis->parallelType());
    has_changed = true;
  }
  if (sharedLoopCount(producer) == 0 && isReordered(consumer)) has_changed |= arrangeLike(producer, mapped);
  return has_changed;
}

}  // namespace

void propagate(TensorView* tensor, const DomainGraph& graph) {
  requireGiven("propagate", {{"tensor", tensor}});
  const Fusion& fusion = tensor->fusion();
  std::set<const Val*> reached = {tensor};
  std::vector<Expr*> exprs = fusion.allExprs();
  // In reverse topological order, so that a tensor is complete before its producers follow.
  for (const Expr* expr : exprs | std::views::reverse) {
    for (Val* output : expr->outputs()) {
      const TensorView* consumer = asTensor(output);
      if (consumer == nullptr || !reached.contains(consumer)) continue;
      for (TensorView* producer : tensorsOf(expr->inputs())) {
        if (fusion.isInput(producer)) continue;
        if (propagateThrough(graph, *expr, *consumer, *producer)) reached.insert(producer);
      }
    }
  }
}

void propagate(TensorView* tensor) {
  requireGiven("propagate", {{"tensor", tensor}});
  propagate(tensor, DomainGraph(tensor->fusion()));
}

}  // namespace tokamak
