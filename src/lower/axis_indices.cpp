#include "lower/axis_indices.h"

#include "analysis/addresses.h"
#include "base/require.h"
#include "ir/fusion.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

Scalar* AxisIndices::simplified(Scalar* scalar) { return simplify(scalar, *analysis_); }

// a xor b bit by bit, as scalars have no xor. Both are below `extent`, a power of two.
Scalar* AxisIndices::exclusiveOr(Scalar* a, Scalar* b, int64_t extent) {
  Scalar* result = fusion_->constant(0);
  for (int64_t bit = 1; bit < extent; bit *= 2) {
    Scalar* value = fusion_->constant(bit);
    Scalar* sum = fusion_->add(fusion_->floorDiv(a, value), fusion_->floorDiv(b, value));
    result = fusion_->add(result, fusion_->mul(fusion_->mod(sum, fusion_->constant(2)), value));
  }
  return simplified(result);
}

Scalar* AxisIndices::swizzled(const DomainExpr& step, Scalar* x, Scalar* b) {
  const IterDomain& y = *step.in[1];
  if (step.in[0]->isBroadcast() || y.isBroadcast()) return b;
  if (step.swizzle == SwizzleType::Xor) return exclusiveOr(b, x, *y.extent()->constantInt());
  return simplified(fusion_->mod(fusion_->add(b, x), y.extent()));
}

Scalar* AxisIndices::unswizzled(const DomainExpr& step, Scalar* x, Scalar* y_index) {
  const IterDomain& y = *step.in[1];
  if (step.in[0]->isBroadcast() || y.isBroadcast()) return y_index;
  if (step.swizzle == SwizzleType::Xor) return exclusiveOr(y_index, x, *y.extent()->constantInt());
  // (No intermediate result is negative.)
  Scalar* back = fusion_->sub(y.extent(), fusion_->mod(x, y.extent()));
  return simplified(fusion_->mod(fusion_->add(y_index, back), y.extent()));
}

Scalar* AxisIndices::backwards(const IterDomain& axis) {
  if (const auto found = known_.find(&axis); found != known_.end()) return found->second;
  const DomainExpr* step = axis.use();
  TK_CHECK(step != nullptr, "axis {} of a kernel's tensor is not among its loops", toString(*axis.extent()));
  Scalar* index = nullptr;
  if (step->kind == DomainExprKind::Split) {
    Scalar* outer = backwards(*step->out[0]);
    Scalar* inner_extent = step->out[1]->extent();
    // If the split divides, the outer part needs a bound; else the whole axis does, which implies it.
    const bool divides = analysis_->isProvablyDivisible(*axis.visibleExtent(), *step->factor);
    if (!divides && !bounds_.empty() && bounds_.back().axis == step->out[0]) bounds_.pop_back();
    index = simplified(fusion_->add(fusion_->mul(outer, inner_extent), backwards(*step->out[1])));
    if (!divides) bounds_.push_back({index, axis.visibleExtent(), &axis});
  } else if (step->kind == DomainExprKind::Swizzle) {
    index = backwards(&axis == step->in[0] ? *step->out[0] : *step->out[1]);
    if (&axis == step->in[1]) index = swizzled(*step, backwards(*step->out[0]), index);
  } else {
    Scalar* merged = backwards(*step->out[0]);
    Scalar* inner_extent = step->in[1]->visibleExtent();
    const bool is_outer = &axis == step->in[0];
    // If the other axis has extent 1, this one has the whole index.
    if (step->in[is_outer ? 1 : 0]->visibleExtent()->isConstantInt(1))
      index = merged;
    else
      index = simplified(is_outer ? fusion_->floorDiv(merged, inner_extent) : fusion_->mod(merged, inner_extent));
  }
  known_[&axis] = index;
  return index;
}

Scalar* AxisIndices::forwards(const IterDomain& axis) {
  if (const auto found = known_.find(&axis); found != known_.end()) return found->second;
  const DomainExpr* step = axis.definition();
  TK_CHECK(step != nullptr, "an axis of extent {} has no index", toString(*axis.extent()));
  Scalar* index = nullptr;
  if (step->kind == DomainExprKind::Split) {
    Scalar* whole = forwards(*step->in[0]);
    Scalar* inner_extent = step->out[1]->extent();
    index =
        simplified(&axis == step->out[0] ? fusion_->floorDiv(whole, inner_extent) : fusion_->mod(whole, inner_extent));
  } else if (step->kind == DomainExprKind::Swizzle) {
    Scalar* x = forwards(*step->in[0]);
    index = &axis == step->out[0] ? x : unswizzled(*step, x, forwards(*step->in[1]));
  } else {
    Scalar* outer = forwards(*step->in[0]);
    index = simplified(mergedIndex(*fusion_, *analysis_, outer, forwards(*step->in[1]), step->in[1]->visibleExtent()));
  }
  known_[&axis] = index;
  return index;
}

}  // namespace tokamak
