#include "schedule/propagate.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "schedule/transforms.h"

namespace tokamak {

namespace {

// Does one step on a loop nest in place: parts of a split side by side, a merged axis where its outer one was.
void replace(Axes& loop, const DomainExpr& step) {
  if (step.kind == DomainExprKind::Split)
    loop.insert(std::ranges::find(loop, step.in[0]) + 1, step.out[1]);
  else
    loop.erase(std::ranges::find(loop, step.in[1]));
  *std::ranges::find(loop, step.in[0]) = step.out[0];
}

void redoSteps(const IterDomain& axis, Axes& loop) {
  const DomainExpr* step = axis.definition();
  if (step == nullptr || std::ranges::find(loop, &axis) != loop.end()) return;
  for (const IterDomain* in : step->in) {
    if (in != nullptr) redoSteps(*in, loop);
  }
  replace(loop, *step);
}

/// Whether the loop nest is in another order than its splits and merges alone would leave it in.
bool isReordered(const TensorView& tensor) {
  Axes loop = tensor.logical();
  for (const IterDomain* axis : tensor.loop()) redoSteps(*axis, loop);
  return loop != tensor.loop();
}

/// Consumer axes -> the producer's axes that go along.
class Replay {
 public:
  Replay(const DomainGraph& graph, const Expr& expr, const TensorView& consumer, TensorView& producer)
      : producer_(&producer) {
    for (const IterDomain* axis : consumer.logical()) {
      IterDomain* own = graph.producerAxis(expr, producer, *axis, AxisMapping::Reduction);
      // A broadcast axis along a sized one is read whole by every iteration.
      if (own != nullptr && own->isBroadcast() == axis->isBroadcast()) axes_[axis] = own;
    }
    for (const IterDomain* axis : consumer.loop()) follow(*axis);
  }

  /// Whether the producer's schedule changed.
  bool apply(const TensorView& consumer) {
    Axes mapped;
    for (const IterDomain* axis : consumer.loop()) {
      IterDomain* own = find(*axis);
      if (own == nullptr || !isInLoop(own)) continue;
      mapped.push_back(own);
      if (axis->parallelType() == ParallelType::Serial || own->parallelType() != ParallelType::Serial) continue;
      own->parallelize(axis->parallelType());
      has_changed_ = true;
    }
    if (isReordered(consumer)) arrange(mapped);
    return has_changed_;
  }

 private:
  IterDomain* find(const IterDomain& axis) const {
    const auto found = axes_.find(&axis);
    return found == axes_.end() ? nullptr : found->second;
  }
  bool isInLoop(const IterDomain* axis) const {
    return std::ranges::find(producer_->loop(), axis) != producer_->loop().end();
  }

  // Does the steps that made a consumer's axis on the producer's axes, each once, inputs first.
  void follow(const IterDomain& axis) {
    const DomainExpr* step = axis.definition();
    if (step == nullptr || find(axis) != nullptr) return;
    for (const IterDomain* in : step->in) {
      if (in != nullptr) follow(*in);
    }
    IterDomain* first = find(*step->in[0]);
    IterDomain* second = step->in[1] != nullptr ? find(*step->in[1]) : nullptr;
    if (first == nullptr || (step->in[1] != nullptr && second == nullptr)) return;
    const DomainExpr* own = sameStep(*step, first, second);
    if (own == nullptr) return;
    axes_[step->out[0]] = own->out[0];
    if (step->out[1] != nullptr) axes_[step->out[1]] = own->out[1];
  }

  // The step on the producer: found when it was done before, done when the axes are free, else null.
  const DomainExpr* sameStep(const DomainExpr& step, IterDomain* first, IterDomain* second) {
    if (const DomainExpr* own = first->use(); own != nullptr && !isInLoop(first)) {
      const bool is_same = own->kind == step.kind && own->factor == step.factor && own->in[0] == first &&
                           own->in[1] == second && own->is_inner_factor == step.is_inner_factor;
      return is_same ? own : nullptr;
    }
    const auto isFree = [&](const IterDomain* axis) {
      return axis == nullptr || (isInLoop(axis) && axis->parallelType() == ParallelType::Serial);
    };
    if (!isFree(first) || !isFree(second)) return nullptr;
    Axes& loop = producer_->mutableDomain().loop;
    has_changed_ = true;
    const DomainExpr* own =
        step.kind == DomainExprKind::Merge
            ? mergeStep(first, second)
            : splitStep(first, step.factor, step.is_inner_factor ? SplitSide::Inner : SplitSide::Outer);
    replace(loop, *own);
    return own;
  }

  // The mapped axes take the consumer's order among the places that they hold; others keep theirs.
  void arrange(const Axes& mapped) {
    Axes& loop = producer_->mutableDomain().loop;
    size_t next = 0;
    for (IterDomain*& axis : loop) {
      if (std::ranges::find(mapped, axis) == mapped.end()) continue;
      has_changed_ |= axis != mapped[next];
      axis = mapped[next++];
    }
  }

  TensorView* producer_;
  std::map<const IterDomain*, IterDomain*> axes_;
  bool has_changed_ = false;
};

}  // namespace

void propagate(TensorView* tensor, const DomainGraph& graph) {
  const Fusion& fusion = tensor->fusion();
  std::set<const Val*> reached = {tensor};
  std::vector<Expr*> exprs = fusion.allExprs();
  // Users come after what they use, so that a tensor is finished before its producers take over from it.
  for (const Expr* expr : exprs | std::views::reverse) {
    for (Val* output : expr->outputs()) {
      const TensorView* consumer = asTensor(output);
      if (consumer == nullptr || !reached.contains(consumer)) continue;
      for (TensorView* producer : tensorsOf(expr->inputs())) {
        if (fusion.isInput(producer)) continue;
        if (Replay(graph, *expr, *consumer, *producer).apply(*consumer)) reached.insert(producer);
      }
    }
  }
}

void propagate(TensorView* tensor) { propagate(tensor, DomainGraph(tensor->fusion())); }

}  // namespace tokamak
