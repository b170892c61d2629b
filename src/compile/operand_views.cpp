#include "compile/operand_views.h"

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_set>

#include "analysis/view_layout.h"
#include "graph/infer_stride_order.h"
#include "graph/view_outputs.h"
#include "ir/ops/math/permute_op.h"

namespace tokamak {

namespace {

using Steps = std::span<Expr* const>;

bool isProduct(const Expr* expr) { return expr != nullptr && expr->info().is_library; }

// Whether one axis of the matrix (of its last two) has elements side by side.
bool isMatrixOfLines(const ViewLayout& layout) {
  const auto isLine = [](const ViewAxis& axis) {
    return axis.stride.unit == nullptr && axis.stride.times->isConstantInt(1);
  };
  return std::ranges::any_of(std::span(layout).last(std::min<size_t>(layout.size(), 2)), isLine);
}

// Whether all but the last axis are rows of one matrix.
bool isOneMatrix(Fusion& fusion, const ViewLayout& layout) {
  for (size_t i = 0; i + 2 < layout.size(); ++i) {
    const ViewStride& next = layout[i + 1].stride;
    const ViewStride rows{.unit = next.unit, .times = fusion.mul(next.times, layout[i + 1].extent)};
    if (!layout[i].extent->isConstantInt(1) && !(layout[i].stride == rows)) return false;
  }
  return true;
}

// Many small products in the place of a large one would be slower than a copy.
bool isReadInPlace(const Expr& product, const ViewLayout& layout) {
  const auto hasBatches = [](Val* operand) { return shapeOf(*asTensor(operand)).size() > 2; };
  const auto matrices = std::span(product.inputs()).first(2);
  return std::ranges::all_of(matrices, hasBatches) || isOneMatrix(product.fusion(), layout);
}

class OperandViewMaker {
 public:
  explicit OperandViewMaker(const Fusion& fusion) : fusion_(fusion) {}

  void add(TensorView* operand) {
    if (!seen_.insert(operand).second || fusion_.isOutput(operand)) return;
    if (!std::ranges::all_of(operand->uses(), isProduct)) return;
    const std::vector<Expr*> steps = stepsTo(operand);
    for (Steps rest = steps; !rest.empty(); rest = rest.subspan(1)) {
      if (!isView(rest) && !becomesView(rest)) continue;
      chains_.emplace_back(rest.begin(), rest.end());
      return;
    }
  }

  std::vector<std::vector<Expr*>> take() { return std::move(chains_); }

 private:
  std::vector<Expr*> stepsTo(TensorView* operand) const {
    std::vector<Expr*> steps;
    for (TensorView* result = operand; isViewStep(result->definition());) {
      steps.insert(steps.begin(), result->definition());
      result = asTensor(result->definition()->inputs()[0]);
      if (fusion_.isOutput(result) || result->uses().size() != 1) break;
    }
    return steps;
  }

  bool isView(Steps steps) const {
    const TensorView& source = *asTensor(steps.front()->inputs()[0]);
    const TensorView& result = *asTensor(steps.back()->output(0));
    const std::vector<const Expr*> chain(steps.begin(), steps.end());
    const std::optional<ViewLayout> layout = layoutOfChain(source, chain);
    return layout && isAsRequired(result, *layout) && isMatrixOfLines(*layout) &&
           std::ranges::all_of(result.uses(), [&](const Expr* use) { return isReadInPlace(*use, *layout); });
  }

  // Whether it is a view if the product before it stores its result in the order that the chain's permute asks for.
  bool becomesView(Steps steps) const {
    const auto* permute = steps.front()->as<PermuteOp>();
    if (permute == nullptr) return false;
    TensorView* source = asTensor(steps.front()->inputs()[0]);
    if (!isProduct(source->definition()) || fusion_.isOutput(source) || source->uses().size() != 1) return false;
    // (The library stores rows or columns.)
    const auto rank = static_cast<int64_t>(permute->order.size());
    if (hasLayout(*source) || permute->order.back() < rank - 2) return false;
    source->mutableDomain().stride_order_hint = strideRanks(permute->order);
    if (isView(steps)) return true;
    source->mutableDomain().stride_order_hint.reset();
    return false;
  }

  const Fusion& fusion_;
  std::unordered_set<const TensorView*> seen_;
  std::vector<std::vector<Expr*>> chains_;
};

}  // namespace

std::vector<std::vector<Expr*>> makeOperandViews(const Fusion& fusion, const KernelTarget& target) {
  OperandViewMaker maker(fusion);
  if (!target.strided_products) return {};
  for (const Expr* expr : fusion.exprs()) {
    if (!isProduct(expr)) continue;
    for (TensorView* operand : tensorsOf(expr->inputs())) maker.add(operand);
  }
  return maker.take();
}

}  // namespace tokamak
