// Joined parts: a concatenation of slices of one tensor, or of the same movement of such slices.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/movement.h"
#include "ir/ops/math/slice_op.h"

namespace tokamak {

struct JoinedParts {
  struct Step {
    const Expr* expr = nullptr;  ///< the step of the first part
    ChangedAxis axis;            ///< the axis along which the parts are adjacent
  };
  SliceOp range;            ///< of all parts together; without a result
  std::vector<Step> steps;  ///< movements and casts of it, in order, without copies
};

/// Matches cat(parts, axis) of adjacent ranges of one tensor, or of the same movements and casts of such ranges.
/// Movements have to keep the axis whole, reshapes the number of elements in front of it.
/// A single position of an axis with a new axis for it counts as a range, a copy as its operand. Sizes are compared as
/// expressions. Interns scalars in the parts' fusion.
std::optional<JoinedParts> joinParts(std::span<TensorView* const> parts, size_t axis);

/// A concatenation of single positions of an axis along a new axis.
struct StackedParts {
  SliceOp range;                   ///< of the positions; without a result
  std::vector<int64_t> order;      ///< of the range's axes: the axis of positions comes to where the new axis is
  std::vector<const Expr*> casts;  ///< in order
  std::vector<bool> flags;         ///< per axis of the concatenation: other axes that are new
};

/// Matches cat(parts, axis) of such positions with equal distances. Interns scalars in their fusion.
std::optional<StackedParts> stackedParts(std::span<TensorView* const> parts, size_t axis);

}  // namespace tokamak
