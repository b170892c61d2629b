#include "graph/share_outputs.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <ranges>
#include <set>
#include <span>
#include <unordered_set>
#include <vector>

#include "graph/merge_equal.h"
#include "graph/movement.h"
#include "graph/replacement.h"
#include "graph/rewriter.h"
#include "graph/view_outputs.h"
#include "ir/ops/math/broadcast_op.h"
#include "ir/ops/math/load_store_op.h"
#include "ir/ops/math/permute_op.h"
#include "ir/ops/math/reshape_op.h"
#include "ir/ops/math/squeeze_op.h"

namespace tokamak {

namespace {

// An output that is a movement of an intermediate value.
struct Moved {
  size_t number = 0;
  TensorView* output = nullptr;
  std::vector<Expr*> steps;  // from the value on, without copies
  bool is_copied = false;    // a copy among them: it is no view
};
using Values = std::map<TensorView*, std::vector<Moved>, ById>;

bool isStep(const Expr* expr) { return isMovement(expr) && !expr->is<LoadStoreOp>(); }

Values movedValues(const Fusion& fusion) {
  Values values;
  for (size_t number = 0; number < fusion.outputs().size(); ++number) {
    TensorView* output = fusion.outputs()[number];
    if (fusion.outputAliases().contains(output) || std::ranges::count(fusion.outputs(), output) > 1) continue;
    Moved moved{.number = number, .output = output, .steps = {}};
    TensorView* value = output;
    while (isMovement(value->definition()) && (value == output || isReplaceable(fusion, *value))) {
      if (isStep(value->definition()))
        moved.steps.insert(moved.steps.begin(), value->definition());
      else
        moved.is_copied = true;
      value = asTensor(value->definition()->inputs()[0]);
    }
    const bool is_between = !fusion.isInput(value) && !fusion.isOutput(value) && isUnmarked(*value);
    const bool is_moved = !moved.steps.empty() && !moved.is_copied;
    if (is_between && (is_moved || (moved.is_copied && isUnmarked(*output)))) values[value].push_back(std::move(moved));
  }
  return values;
}

// Appends the inverse of `step` to its result, which has each element of the operand once.
TensorView* undo(const Expr& step, TensorView* result) {
  Fusion& fusion = result->fusion();
  const auto put = [&]<class Op>(Op op) {
    op.infer(ShapeRule(fusion, Op::info.name));
    TensorView* out = op.out;
    fusion.appendOp(std::move(op));
    return out;
  };
  if (const auto* permute = step.as<PermuteOp>()) {
    std::vector<int64_t> order(permute->order.size());
    for (size_t i = 0; i < order.size(); ++i) order[static_cast<size_t>(permute->order[i])] = static_cast<int64_t>(i);
    return put(PermuteOp{.in = result, .order = std::move(order)});
  }
  if (const auto* reshape = step.as<ReshapeOp>()) {
    std::vector<Scalar*> shape;
    for (const IterDomain* axis : shapeOf(*reshape->in)) shape.push_back(axis->visibleExtent());
    return put(ReshapeOp{.in = result, .shape = std::move(shape)});
  }
  if (const auto* squeeze = step.as<SqueezeOp>()) return put(BroadcastOp{.in = result, .flags = squeeze->flags});
  return put(SqueezeOp{.in = result, .flags = step.as<BroadcastOp>()->flags});
}

bool isPartOrRepeated(const Expr* step) {
  const auto isExpanded = [](const IterDomain* axis) { return axis->expandedExtent() != nullptr; };
  return (!step->is<PermuteOp>() && !step->is<ReshapeOp>() && !step->is<SqueezeOp>() && !step->is<BroadcastOp>()) ||
         std::ranges::any_of(shapeOf(*asTensor(step->inputs()[0])), isExpanded);
}

// The output to compute, of those with all elements: one that is stored anyway, else one in the value's order, else the
// first.
const Moved* chooseComputed(const std::vector<Moved>& all) {
  const Moved* chosen = nullptr;
  int most = -1;
  for (const Moved& moved : all) {
    if (std::ranges::any_of(moved.steps, isPartOrRepeated)) continue;
    const bool is_in_order = std::ranges::none_of(moved.steps, [](const Expr* step) { return step->is<PermuteOp>(); });
    const int rank = 2 * static_cast<int>(moved.is_copied) + static_cast<int>(is_in_order);
    if (rank > most) chosen = &moved;
    most = std::max(most, rank);
  }
  return chosen;
}

// Makes the other output a movement of the computed one. False, with nothing changed, if their shapes differ in axes
// that the value does not have.
bool makeOf(const Moved& computed, const Moved& other) {
  TensorView* value = computed.output;
  for (const Expr* step : computed.steps | std::views::reverse) {
    const TensorView& operand = *asTensor(step->inputs()[0]);
    value = undo(*step, value);
    if (!hasSameShape(*value, operand)) return false;
  }
  for (const Expr* step : std::span(other.steps).first(other.steps.size() - 1)) value = rebuild(*step, *value);
  other.output->fusion().replaceExpr(other.steps.back(), rebuilt(*other.steps.back(), *value, other.output));
  return true;
}

std::unordered_set<const TensorView*> viewsOf(const Fusion& fusion) {
  std::unordered_set<const TensorView*> views;
  for (const ViewOutput& view : viewOutputsOf(fusion)) views.insert(view.output);
  return views;
}

// Returns the numbers of the outputs that became movements of others.
std::vector<size_t> share(Fusion& fusion, const std::set<size_t>& kept) {
  std::vector<size_t> changed;
  for (const auto& [value, all] : movedValues(fusion)) {
    const Moved* computed = all.size() > 1 ? chooseComputed(all) : nullptr;
    for (const Moved& moved : all) {
      const bool is_other =
          computed != nullptr && &moved != computed && !moved.is_copied && !kept.contains(moved.number);
      if (is_other && makeOf(*computed, moved)) changed.push_back(moved.number);
    }
  }
  return changed;
}

}  // namespace

static std::unique_ptr<Fusion> shareMoved(const Fusion& fusion) {
  const auto isMovedTwice = [](const auto& value) { return value.second.size() > 1; };
  if (std::ranges::none_of(movedValues(fusion), isMovedTwice)) return nullptr;
  std::set<size_t> kept;  // outputs that would be no views
  while (true) {
    std::unique_ptr<Fusion> shared = cloneFusion(fusion);
    const std::vector<size_t> changed = share(*shared, kept);
    if (changed.empty()) return nullptr;
    const auto views = viewsOf(*shared);
    const auto isView = [&](size_t number) { return views.contains(shared->outputs()[number]); };
    if (std::ranges::all_of(changed, isView)) return shared;
    std::ranges::copy_if(changed, std::inserter(kept, kept.end()), std::not_fn(isView));
  }
}

std::unique_ptr<Fusion> shareOutputs(const Fusion& fusion) {
  std::unique_ptr<Fusion> shared;
  const auto current = [&]() -> const Fusion& { return shared != nullptr ? *shared : fusion; };
  // (Readers of equal outputs may have become equal, too.)
  while (std::unique_ptr<Fusion> shown = viewEqualOutputs(current())) shared = mergeEqual(*shown);
  if (std::unique_ptr<Fusion> moved = shareMoved(current())) shared = std::move(moved);
  return shared;
}

}  // namespace tokamak
