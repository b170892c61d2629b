#include "graph/view_outputs.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include "analysis/bind_shape.h"
#include "ir/ops/math/broadcast_op.h"
#include "ir/ops/math/load_store_op.h"
#include "ir/ops/math/permute_op.h"
#include "ir/ops/math/reshape_op.h"
#include "ir/ops/math/select_op.h"
#include "ir/ops/math/slice_op.h"
#include "ir/ops/math/squeeze_op.h"

namespace tokamak {

namespace {

// What is known of where a tensor's elements lie.
struct Layout {
  std::vector<const IterDomain*> order;  // the axes that have a stride, from the slowest to the fastest
  bool is_dense = false;
};

bool hasStride(const IterDomain& axis) { return !axis.isBroadcast(); }

Layout declaredLayout(const TensorView& tensor) {
  const Axes shape = shapeOf(tensor);
  const TensorDomain& domain = tensor.domain();
  Layout layout;
  for (const size_t axis : memoryOrder(tensor)) {
    if (hasStride(*shape[axis])) layout.order.push_back(shape[axis]);
  }
  layout.is_dense = std::ranges::none_of(domain.contiguity, [](const auto& dense) { return dense == false; });
  return layout;
}

// The results' axes in the order of the operand's: `next` tells which axis of the result goes along with one of the operand, or null.
Layout followed(const Layout& in, const TensorView& operand, const std::vector<const IterDomain*>& next) {
  const Axes shape = shapeOf(operand);
  Layout layout{.order = {}, .is_dense = in.is_dense};
  for (const IterDomain* axis : in.order) {
    const auto* follower = next[static_cast<size_t>(std::ranges::find(shape, axis) - shape.begin())];
    if (follower != nullptr) layout.order.push_back(follower);
  }
  return layout;
}

bool isRowMajor(const Layout& layout, const TensorView& tensor) {
  std::vector<const IterDomain*> expected;
  for (const IterDomain* axis : shapeOf(tensor)) {
    if (axis->expandedExtent() != nullptr) return false;
    if (hasStride(*axis)) expected.push_back(axis);
  }
  return layout.is_dense && layout.order == expected;
}

// The axes that go along with those of the operand; null where there is none.
std::vector<const IterDomain*> followersOf(const Expr& step) {
  const Axes shape = shapeOf(*asTensor(step.output(0)));
  std::vector<const IterDomain*> next(shapeOf(*asTensor(step.inputs()[0])).size(), nullptr);
  if (const auto* permute = step.as<PermuteOp>()) {
    for (size_t i = 0; i < shape.size(); ++i) next[static_cast<size_t>(permute->order[i])] = shape[i];
  } else if (const auto* squeeze = step.as<SqueezeOp>()) {
    for (size_t i = 0, kept = 0; i < next.size(); ++i) next[i] = squeeze->flags[i] ? nullptr : shape[kept++];
  } else if (const auto* broadcast = step.as<BroadcastOp>()) {
    for (size_t i = 0, old = 0; i < shape.size(); ++i) {
      if (!broadcast->flags[i]) next[old++] = shape[i];
    }
  } else if (const auto* select = step.as<SelectOp>()) {
    for (size_t i = 0, kept = 0; i < next.size(); ++i)
      next[i] = static_cast<int64_t>(i) == select->axis ? nullptr : shape[kept++];
  } else {
    next = {shape.begin(), shape.end()};  // slice, expand
  }
  return next;
}

// Whether the step takes a part of the operand along `axis`, and only every so many elements of it.
struct Cut {
  bool is_part = false;
  bool has_steps = false;
};

Cut cutAlong(const Expr& step, size_t axis) {
  if (const auto* select = step.as<SelectOp>()) return {.is_part = static_cast<int64_t>(axis) == select->axis};
  const auto* slice = step.as<SliceOp>();
  if (slice == nullptr) return {};
  const bool is_whole =
      slice->starts[axis]->isConstantInt(0) && slice->stops[axis] == shapeOf(*slice->in)[axis]->visibleExtent();
  const bool has_steps = !slice->steps[axis]->isConstantInt(1);
  return {.is_part = !is_whole || has_steps, .has_steps = has_steps};
}

// Where the result of a step lies, or nothing where it may have to be moved.
std::optional<Layout> layoutAfter(const Expr& step, const Layout& in) {
  const TensorView& operand = *asTensor(step.inputs()[0]);
  if (step.is<ReshapeOp>()) {
    if (!isRowMajor(in, operand)) return std::nullopt;
    Layout layout{.order = {}, .is_dense = true};
    for (const IterDomain* axis : shapeOf(*asTensor(step.output(0)))) {
      if (hasStride(*axis)) layout.order.push_back(axis);
    }
    return layout;
  }
  Layout layout = followed(in, operand, followersOf(step));
  const Axes shape = shapeOf(operand);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const Cut cut = cutAlong(step, axis);
    // Parts along the slowest axis are as dense as the whole.
    const bool is_slowest = !in.order.empty() && in.order.front() == shape[axis];
    if (cut.is_part && (!is_slowest || cut.has_steps)) layout.is_dense = false;
  }
  return layout;
}

bool isPlain(const TensorView& tensor, MemoryKind kind) {
  const TensorDomain& domain = tensor.domain();
  const bool is_marked = std::ranges::any_of(
      domain.loop, [](const IterDomain* axis) { return axis->parallelType() != ParallelType::Serial; });
  return domain.loop == domain.logical && !is_marked && tensor.memoryKind() == kind && tensor.mesh().empty();
}

// What the user said of the layout holds for the view.
bool isAsRequired(const TensorView& tensor, const Layout& layout) {
  const TensorDomain& domain = tensor.domain();
  if (!domain.stride_order && domain.allocation.empty()) return true;
  const Layout required = declaredLayout(tensor);
  return required.order == layout.order && (layout.is_dense || domain.allocation.empty());
}

class ViewFinder {
 public:
  explicit ViewFinder(const Fusion& fusion) : fusion_(fusion) {}

  const std::optional<ViewOutput>& find(TensorView* output) {
    const auto [found, is_new] = known_.try_emplace(output);
    if (is_new) {
      std::optional<ViewOutput> view = look(output);
      return known_[output] = std::move(view);
    }
    return found->second;
  }

 private:
  std::optional<ViewOutput> look(TensorView* output) {
    if (fusion_.outputAliases().contains(output) || fusion_.isInput(output)) return std::nullopt;
    ViewOutput view{.output = output, .chain = {}};
    const TensorView* source = output;
    while (isStep(source->definition()) && (view.chain.empty() || !isComputedOutput(*source))) {
      view.chain.insert(view.chain.begin(), source->definition());
      source = asTensor(source->definition()->inputs()[0]);
    }
    const bool is_source = fusion_.isInput(source) ? !isUpdated(*source) : fusion_.isOutput(source);
    if (view.chain.empty() || !is_source || fusion_.outputAliases().contains(const_cast<TensorView*>(source)))
      return std::nullopt;
    if (!source->mesh().empty()) return std::nullopt;
    return isView(view, *source) ? std::optional(std::move(view)) : std::nullopt;
  }

  static bool isStep(const Expr* expr) {
    return expr != nullptr && expr->info().may_be_view && !expr->is<LoadStoreOp>();
  }

  // An output in the middle of a chain that is no view itself is what the rest of the chain starts at.
  bool isComputedOutput(const TensorView& tensor) {
    return fusion_.isOutput(&tensor) && !find(const_cast<TensorView*>(&tensor));
  }

  bool isUpdated(const TensorView& input) const {
    return std::ranges::any_of(fusion_.outputAliases(),
                               [&](const auto& alias) { return alias.second.target == &input; });
  }

  static bool isView(const ViewOutput& view, const TensorView& source) {
    Layout layout = declaredLayout(source);
    for (const Expr* step : view.chain) {
      const TensorView& result = *asTensor(step->output(0));
      if (!isPlain(result, source.memoryKind())) return false;
      std::optional<Layout> next = layoutAfter(*step, layout);
      if (!next) return false;
      layout = *std::move(next);
    }
    return isAsRequired(*view.output, layout);
  }

  const Fusion& fusion_;
  std::unordered_map<const TensorView*, std::optional<ViewOutput>> known_;
};

}  // namespace

std::vector<ViewOutput> viewOutputsOf(const Fusion& fusion) {
  ViewFinder finder(fusion);
  std::vector<ViewOutput> views;
  for (TensorView* output : fusion.outputs()) {
    if (std::ranges::count(fusion.outputs(), output) > 1) continue;
    if (const auto& view = finder.find(output)) views.push_back(*view);
  }
  return views;
}

FusionWithoutViews takeViewOutputs(const Fusion& source) {
  FusionWithoutViews parts{
      .views = viewOutputsOf(source), .fusion = std::make_unique<Fusion>(source.name()), .cloner = nullptr};
  parts.cloner = std::make_unique<Cloner>(*parts.fusion);
  std::unordered_set<const Val*> needed(source.outputs().begin(), source.outputs().end());
  for (const ViewOutput& view : parts.views) needed.erase(view.output);
  std::vector<const Expr*> live;
  const std::vector<Expr*> exprs = source.exprs();
  for (const Expr* expr : exprs | std::views::reverse) {
    if (std::ranges::none_of(expr->outputs(), [&](const Val* out) { return needed.contains(out); })) continue;
    live.push_back(expr);
    needed.insert(expr->inputs().begin(), expr->inputs().end());
  }
  const auto isView = [&](const TensorView* output) {
    return std::ranges::find(parts.views, output, &ViewOutput::output) != parts.views.end();
  };
  Cloner& cloner = *parts.cloner;
  for (Val* input : source.inputs()) parts.fusion->addInput(cloner.clone(input));
  for (const Expr* expr : live | std::views::reverse) cloner.clone(*expr);
  for (TensorView* output : source.outputs())
    if (!isView(output)) parts.fusion->addOutput(cloner.clone(output));
  for (const auto& [output, alias] : source.outputAliases())
    parts.fusion->aliasOutput(cloner.clone(output), cloner.clone(alias.target), alias.is_hidden);
  for (const auto& [symbol, value] : source.defaultSizes()) parts.fusion->defaultSizes()[cloner.clone(symbol)] = value;
  return parts;
}

}  // namespace tokamak
