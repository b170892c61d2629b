#include "graph/view_outputs.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include "ir/ops/math/load_store_op.h"

namespace tokamak {

namespace {

bool isPlain(const TensorView& tensor, MemoryKind kind) {
  const TensorDomain& domain = tensor.domain();
  const bool is_marked = std::ranges::any_of(
      domain.loop, [](const IterDomain* axis) { return axis->parallelType() != ParallelType::Serial; });
  return domain.loop == domain.logical && !is_marked && tensor.memoryKind() == kind && tensor.mesh().empty();
}

}  // namespace

bool isViewStep(const Expr* expr) { return expr != nullptr && expr->info().may_be_view && !expr->is<LoadStoreOp>(); }

std::optional<ViewLayout> layoutOfChain(const TensorView& source, std::span<const Expr* const> chain) {
  ViewLayout layout = declaredLayout(source);
  for (const Expr* step : chain) {
    if (!isPlain(*asTensor(step->output(0)), source.memoryKind())) return std::nullopt;
    std::optional<ViewLayout> next = layoutAfter(*step, layout);
    if (!next) return std::nullopt;
    layout = *std::move(next);
  }
  return layout;
}

namespace {

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
    while (isViewStep(source->definition()) && (view.chain.empty() || !isComputedOutput(*source))) {
      view.chain.insert(view.chain.begin(), source->definition());
      source = asTensor(source->definition()->inputs()[0]);
    }
    const bool is_source = fusion_.isInput(source) ? !isUpdated(*source) : fusion_.isOutput(source);
    if (view.chain.empty() || !is_source || fusion_.outputAliases().contains(const_cast<TensorView*>(source)))
      return std::nullopt;
    if (!source->mesh().empty()) return std::nullopt;
    return isView(view, *source) ? std::optional(std::move(view)) : std::nullopt;
  }

  // Whether the tensor is an output that is no view: chains start there.
  bool isComputedOutput(const TensorView& tensor) {
    return fusion_.isOutput(&tensor) && !find(const_cast<TensorView*>(&tensor));
  }

  bool isUpdated(const TensorView& input) const {
    return std::ranges::any_of(fusion_.outputAliases(),
                               [&](const auto& alias) { return alias.second.target == &input; });
  }

  static bool isView(const ViewOutput& view, const TensorView& source) {
    const std::optional<ViewLayout> layout = layoutOfChain(source, view.chain);
    return layout && isAsRequired(*view.output, *layout);
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
