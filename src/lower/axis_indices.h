// AxisIndices: the index along any axis of a tensor, from the indices of its loops (backwards through splits, merges
// and swizzles) or from those of its shape (forwards). All indices of kernels come from here.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/tensor_view.h"
#include "symbolic/interval_analysis.h"

namespace tokamak {

/// A bound, 0 <= index < extent, that a guard has to check where it is not proved.
struct IndexBound {
  Scalar* index = nullptr;
  Scalar* extent = nullptr;
  const IterDomain* axis = nullptr;
};

/// Indices are simplified under the analysis' assumptions.
class AxisIndices {
 public:
  AxisIndices(Fusion& fusion, IntervalAnalysis& analysis) : fusion_(&fusion), analysis_(&analysis) {}

  void set(const IterDomain& axis, Scalar* index) { known_[&axis] = index; }

  /// The index of an axis from those of the axes made from it. A split that is not proved to divide adds a bound.
  Scalar* backwards(const IterDomain& axis);
  /// The index of an axis from those of the axes that it was made from.
  Scalar* forwards(const IterDomain& axis);

  /// The bounds that splits have added.
  const std::vector<IndexBound>& bounds() const { return bounds_; }

 private:
  Scalar* simplified(Scalar* scalar);
  Scalar* exclusiveOr(Scalar* a, Scalar* b, int64_t extent);
  /// The index along y where the loops of a swizzle are at x and b, and b again from it.
  Scalar* swizzled(const DomainExpr& step, Scalar* x, Scalar* b);
  Scalar* unswizzled(const DomainExpr& step, Scalar* x, Scalar* y_index);

  Fusion* fusion_;
  IntervalAnalysis* analysis_;
  std::unordered_map<const IterDomain*, Scalar*> known_;
  std::vector<IndexBound> bounds_;
};

}  // namespace tokamak
