#include "lower/axis_indices.h"

#include "analysis/addresses.h"
#include "base/error.h"
#include "ir/fusion.h"
#include "ir/scalar_simplifier.h"

namespace tokamak {

Scalar* AxisIndices::simplified(Scalar* scalar) { return simplify(scalar, *analysis_); }

Scalar* AxisIndices::backwards(const IterDomain& axis) {
  if (const auto found = known_.find(&axis); found != known_.end()) return found->second;
  const DomainExpr* step = axis.use();
  TK_CHECK(step != nullptr, "axis {} of a kernel's tensor is not among its loops", toString(*axis.extent()));
  Scalar* index = nullptr;
  if (step->kind == DomainExprKind::Split) {
    Scalar* outer = backwards(*step->out[0]);
    // The bound on the whole axis implies the one on its outer part.
    if (!bounds_.empty() && bounds_.back().axis == step->out[0]) bounds_.pop_back();
    index = simplified(fusion_->add(fusion_->mul(outer, step->out[1]->extent()), backwards(*step->out[1])));
    bounds_.push_back({index, axis.visibleExtent(), &axis});
  } else {
    Scalar* merged = backwards(*step->out[0]);
    Scalar* inner_extent = step->in[1]->visibleExtent();
    index =
        simplified(&axis == step->in[0] ? fusion_->floorDiv(merged, inner_extent) : fusion_->mod(merged, inner_extent));
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
  } else {
    Scalar* outer = forwards(*step->in[0]);
    index = simplified(mergedIndex(*fusion_, outer, forwards(*step->in[1]), step->in[1]->visibleExtent()));
  }
  known_[&axis] = index;
  return index;
}

}  // namespace tokamak
