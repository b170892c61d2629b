#include "schedule/transform_like.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/domain_graph.h"
#include "base/error.h"
#include "base/require.h"
#include "define/operand.h"
#include "ir/fusion.h"
#include "schedule/inline.h"
#include "schedule/loop_steps.h"
#include "schedule/shared_loops.h"
#include "schedule/transform_replay.h"
#include "schedule/transforms.h"

namespace tokamak {

namespace {

/// A tensor that shares an expression with the reference, and the axes that map.
struct Neighbor {
  TensorView* tensor = nullptr;
  AxisPairs pairs;
};

AxisPairs inverted(const AxisPairs& pairs) {
  AxisPairs inverse;
  for (const auto& [from, to] : pairs) inverse.emplace_back(to, const_cast<IterDomain*>(from));
  return inverse;
}

AxisPairs composed(const AxisPairs& first, const AxisPairs& second) {
  AxisPairs pairs;
  for (const auto& [from, middle] : first) {
    const auto found = std::ranges::find(second, middle, &AxisPairs::value_type::first);
    if (found != second.end()) pairs.emplace_back(from, found->second);
  }
  return pairs;
}

// The tensors that share expressions, and how their axes map.
class Neighborhood {
 public:
  explicit Neighborhood(const Fusion& fusion) : fusion_(fusion), graph_(fusion) {}

  /// The tensors that an expression reads or computes together with this one. (An input is not scheduled; the tensors
  /// behind it are included.)
  std::vector<Neighbor> of(TensorView* tensor) const {
    std::vector<Neighbor> all = direct(tensor);
    const size_t count = all.size();
    for (size_t i = 0; i < count; ++i) {
      if (!fusion_.isInput(all[i].tensor)) continue;
      for (const Neighbor& behind : direct(all[i].tensor)) {
        if (behind.tensor != tensor) all.push_back({behind.tensor, composed(all[i].pairs, behind.pairs)});
      }
    }
    std::erase_if(all, [&](const Neighbor& neighbor) { return fusion_.isInput(neighbor.tensor); });
    return all;
  }

 private:
  AxisPairs producerPairs(const Expr& expr, const TensorView& consumer, const TensorView& producer) const {
    AxisPairs pairs;
    for (const IterDomain* axis : computedAxes(consumer)) {
      IterDomain* own = graph_.producerAxis(expr, producer, *axis, AxisMapping::Reduction);
      if (own != nullptr) pairs.emplace_back(axis, own);
    }
    return pairs;
  }

  std::vector<Neighbor> direct(TensorView* tensor) const {
    std::vector<Neighbor> found;
    for (const Expr* use : tensor->uses()) {
      for (TensorView* consumer : tensorsOf(use->outputs()))
        found.push_back({consumer, inverted(producerPairs(*use, *consumer, *tensor))});
    }
    if (const Expr* definition = tensor->definition()) {
      for (TensorView* producer : tensorsOf(definition->inputs()))
        found.push_back({producer, producerPairs(*definition, *tensor, *producer)});
    }
    return found;
  }

  const Fusion& fusion_;
  DomainGraph graph_;
};

// Tells the replay which broadcast axes of the reference the other tensor lacks.
void forwardAbsent(const TensorView& reference, const AxisPairs& pairs, TransformReplay& replay) {
  for (const Axes& axes : {computedAxes(reference), reference.logical()}) {
    for (const IterDomain* axis : axes) {
      const bool is_paired = std::ranges::find(pairs, axis, &AxisPairs::value_type::first) != pairs.end();
      if (axis->isBroadcast() && !is_paired) replay.forward(axis);
    }
  }
}

TransformReplay replayOn(const Neighbor& neighbor, const TensorView& reference, TransformReplay::Mode mode) {
  TransformReplay replay(*neighbor.tensor, neighbor.pairs, mode);
  forwardAbsent(reference, neighbor.pairs, replay);
  replay.follow(reference.loop());
  return replay;
}

// --- transform_like ---

// Mapped axes come first, in the reference's order; the others keep theirs.
void arrange(TensorView& tensor, const TensorView& reference, const TransformReplay& replay) {
  if (sharedLoopCount(tensor) > 0) return;
  Axes order;
  for (const IterDomain* axis : reference.loop()) {
    IterDomain* own = replay.loopAxisAt(*axis);
    if (own != nullptr && std::ranges::find(order, own) == order.end()) order.push_back(own);
  }
  for (IterDomain* axis : tensor.loop()) {
    if (std::ranges::find(order, axis) == order.end()) order.push_back(axis);
  }
  if (keepsVectorInnermost(tensor, order)) tensor.mutableDomain().loop = std::move(order);
}

// Visits all connected tensors, always next the one that keeps most of the start's axes (a maximum spanning tree).
class MaximumSpanningWalk {
 public:
  MaximumSpanningWalk(TensorView* start, const Neighborhood& neighborhood, std::span<TensorView* const> boundary,
                      std::span<TensorView* const> selected)
      : neighborhood_(neighborhood),
        boundary_(boundary.begin(), boundary.end()),
        selected_(selected.begin(), selected.end()) {
    const Axes& axes = computedAxes(*start);
    reached_.insert(start);
    expand(start, {axes.begin(), axes.end()});
  }

  void run() {
    while (!candidates_.empty()) {
      const auto best =
          std::ranges::max_element(candidates_, {}, [](const Candidate& candidate) { return candidate.kept.size(); });
      const Candidate next = std::move(*best);
      candidates_.erase(best);
      if (!reached_.insert(next.neighbor.tensor).second) continue;
      arrange(*next.neighbor.tensor, *next.reference,
              replayOn(next.neighbor, *next.reference, TransformReplay::Mode::Make));
      if (!boundary_.contains(next.neighbor.tensor)) expand(next.neighbor.tensor, next.kept);
    }
  }

 private:
  using AxisSet = std::set<const IterDomain*>;
  struct Candidate {
    Neighbor neighbor;
    const TensorView* reference = nullptr;
    AxisSet kept;  ///< its axes that map to the start's
  };

  // Root axes and the logical axes that an rfactor makes of them are kept or dropped together.
  static void closeOverRoot(const TensorView& tensor, AxisSet& kept) {
    if (tensor.domain().root.empty()) return;
    for (const IterDomain* axis : tensor.logical()) {
      for (const IterDomain* from = axis; from != nullptr;
           from = from->definition() == nullptr ? nullptr : from->definition()->in[0]) {
        if (kept.contains(from)) kept.insert(axis);
        if (kept.contains(axis)) kept.insert(from);
      }
    }
  }

  void expand(TensorView* tensor, AxisSet kept) {
    closeOverRoot(*tensor, kept);
    for (Neighbor& neighbor : neighborhood_.of(tensor)) {
      const bool is_meant = selected_.empty() || selected_.contains(neighbor.tensor);
      if (!is_meant || reached_.contains(neighbor.tensor)) continue;
      AxisSet of_neighbor;
      for (const auto& [from, to] : neighbor.pairs) {
        if (kept.contains(from)) of_neighbor.insert(to);
      }
      candidates_.push_back({std::move(neighbor), tensor, std::move(of_neighbor)});
    }
  }

  const Neighborhood& neighborhood_;
  std::set<const TensorView*> boundary_;
  std::set<const TensorView*> selected_;  // empty: all
  std::set<const TensorView*> reached_;
  std::vector<Candidate> candidates_;
};

// --- parallelize_like ---

// The loop axes that map to the start's marked ones, with their types.
class Marks {
 public:
  Marks(TensorView* start, std::span<const ParallelType> types, size_t position) {
    for (IterDomain* axis : std::span(start->loop()).first(position)) {
      const ParallelType type = axis->parallelType();
      const bool is_meant =
          types.empty() ? type != ParallelType::Serial : std::ranges::find(types, type) != types.end();
      if (is_meant) types_[axis] = type;
    }
    pending_.push_back(start);
  }

  void spread(const Neighborhood& neighborhood) {
    for (size_t i = 0; i < pending_.size(); ++i) {
      const TensorView* reference = pending_[i];
      for (const Neighbor& neighbor : neighborhood.of(pending_[i])) visit(neighbor, *reference);
    }
  }

  struct Mark {
    TensorView* tensor;
    IterDomain* axis;
    ParallelType type;
  };
  const std::vector<Mark>& found() const { return found_; }

 private:
  void visit(const Neighbor& neighbor, const TensorView& reference) {
    const TransformReplay replay = replayOn(neighbor, reference, TransformReplay::Mode::Find);
    bool is_news = false;
    for (const IterDomain* axis : reference.loop()) {
      const auto known = types_.find(axis);
      IterDomain* own = replay.loopAxisAt(*axis);
      if (known == types_.end() || own == nullptr || !types_.emplace(own, known->second).second) continue;
      found_.push_back({neighbor.tensor, own, known->second});
      is_news = true;
    }
    if (is_news) pending_.push_back(neighbor.tensor);
  }

  std::map<const IterDomain*, ParallelType> types_;
  std::vector<TensorView*> pending_;
  std::vector<Mark> found_;
};

}  // namespace

void transform_like(TensorView* tensor, std::span<TensorView* const> boundary, std::span<TensorView* const> tensors) {
  requireGiven("transform_like", {{"tensor", tensor}});
  requireGiven("transform_like", "boundary", boundary);
  requireGiven("transform_like", "tensors", tensors);
  const Neighborhood neighborhood(tensor->fusion());
  MaximumSpanningWalk(tensor, neighborhood, boundary, tensors).run();
}

void parallelize_like(TensorView* tensor, std::span<TensorView* const> tensors, std::span<const ParallelType> types,
                      int64_t position) {
  requireGiven("parallelize_like", {{"tensor", tensor}});
  requireGiven("parallelize_like", "tensors", tensors);
  const auto loops = static_cast<int64_t>(tensor->loop().size());
  TK_REQUIRE(-loops - 1 <= position && position <= loops, Schedule,
             "parallelize_like: position {} of {}, which has {} loops; legal are {} to {}", position, toString(*tensor),
             loops, -loops - 1, loops);
  if (position < 0) position += loops + 1;
  const Neighborhood neighborhood(tensor->fusion());
  Marks marks(tensor, types, static_cast<size_t>(position));
  marks.spread(neighborhood);
  std::vector<std::pair<IterDomain*, ParallelType>> before;
  try {
    for (const auto& [owner, axis, type] : marks.found()) {
      const bool is_meant = tensors.empty() || std::ranges::find(tensors, owner) != tensors.end();
      if (!is_meant || owner == tensor) continue;
      requireMarkable("parallelize_like", *owner, *axis, type);
      before.emplace_back(axis, axis->parallelType());
      axis->parallelize(type);
    }
  } catch (const Error&) {
    for (const auto& [axis, type] : before) axis->parallelize(type);
    throw;
  }
}

}  // namespace tokamak
