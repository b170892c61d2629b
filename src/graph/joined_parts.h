// Joined parts: parts of one tensor that a concatenation puts together again, each of them moved in the same way in
// between.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/movement.h"
#include "ir/ops/math/slice_op.h"

namespace tokamak {

struct JoinedParts {
  struct Step {
    const Expr* expr = nullptr;  ///< as it is done to the first part
    ChangedAxis axis;            ///< along which the parts follow one another
  };
  SliceOp range;            ///< what the parts are together; has no result
  std::vector<Step> steps;  ///< what is done to it, the first one first; copies of the parts are none
};

/// What cat(parts, axis) is where the parts are ranges of one tensor that follow one another along an axis, or the same
/// movements and casts of such ranges: movements that keep that axis whole, and reshapes that keep the number of
/// elements in front of it. One position of an axis, with a new axis in its place, is a range; copies of the tensor are
/// the tensor. Sizes are compared as expressions. Interns scalars in the parts' fusion.
std::optional<JoinedParts> joinParts(std::span<TensorView* const> parts, size_t axis);

/// Single positions of an axis, put behind one another along a new axis anywhere.
struct StackedParts {
  SliceOp range;                   ///< the positions; has no result
  std::vector<int64_t> order;      ///< of the range's axes: the axis that has the positions is where the new one was
  std::vector<const Expr*> casts;  ///< the first one first
  std::vector<bool> flags;         ///< per axis of the concatenation: other axes that are new
};

/// What cat(parts, axis) is where the parts are such positions, equally far apart. Interns scalars in their fusion.
std::optional<StackedParts> stackedParts(std::span<TensorView* const> parts, size_t axis);

}  // namespace tokamak
