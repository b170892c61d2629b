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
/// movements of such ranges: movements that keep that axis whole, and reshapes that keep the number of elements in
/// front of it. Sizes are compared as expressions. Interns scalars in the parts' fusion.
std::optional<JoinedParts> joinParts(std::span<TensorView* const> parts, size_t axis);

}  // namespace tokamak
