// ShapeRule: what an op's type rule works with to make its results.
#pragma once

#include <optional>
#include <vector>

#include "base/require.h"
#include "ir/fusion.h"

namespace tokamak {

class ShapeRule {
 public:
  ShapeRule(Fusion& fusion, std::string_view op) : fusion_(&fusion), op_(op) {}

  Fusion& fusion() const { return *fusion_; }
  std::string_view op() const { return op_; }

  IterDomain* iteration(Scalar* extent, bool is_rfactor = false) const;
  IterDomain* reduction(const IterDomain& axis) const;
  IterDomain* broadcast(Scalar* expanded_extent = nullptr) const;
  IterDomain* like(const IterDomain& axis) const { return fusion_->axisLike(axis); }
  /// An axis of this extent: Broadcast when it is the constant 1, else Iteration.
  IterDomain* sized(Scalar* extent) const;

  TensorView* tensor(DataType dtype, Axes logical) const { return fusion_->tensor(dtype, std::move(logical)); }

  /// The axis of the common shape of several operands at one position. Broadcast gives way to Iteration; of two
  /// iterations the one with a constant extent is taken. Errors: Definition when constant extents differ.
  IterDomain* common(const std::vector<IterDomain*>& axes, int64_t position) const;

  /// `axis` in [-rank, rank) made non-negative. Errors: Definition, naming the op and the tensor.
  int64_t normalAxis(int64_t axis, const TensorView& in) const;
  /// Sorted, unique. Errors: Definition for an axis out of range or named twice.
  std::vector<int64_t> normalAxes(const std::vector<int64_t>& axes, const TensorView& in) const;

  /// The type of sums of products of `in`: that of `in`, or `asked`, which may be f32 where `in` is of a half type. A
  /// type that is that of `in` is taken out of `asked`. Errors: Definition for other types.
  DataType productType(const TensorView& in, std::optional<DataType>& asked) const;

 private:
  Fusion* fusion_;
  std::string_view op_;
};

}  // namespace tokamak
