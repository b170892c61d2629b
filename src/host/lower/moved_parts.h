// Moved parts: a part of a result of slice, pad, cat or reshape is the same op on other parts of its operands.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/fields.h"
#include "ir/fusion.h"

namespace tokamak {

/// A range of an axis: `extent` elements (maybe none) from `start` on.
struct AxisRange {
  int64_t axis = 0;  ///< of a tensor's visible shape
  Scalar* start = nullptr;
  Scalar* extent = nullptr;
};

/// The op that computes a part of another op's result.
struct MovedParts {
  std::map<const TensorView*, std::vector<AxisRange>, ById> operands;  ///< the ranges of operands that are not whole
  std::map<std::string_view, FieldValue> attributes;                   ///< those with other values
};

/// The op for this range of an axis of its result. Nothing if the op does not move elements along the axis, or needs
/// more than one range of an operand. `chunk`: a bound of the range's extent, of which its start is a multiple (or it
/// is the axis' end). The op reads no tensor twice (host/lower/apart_operands.h).
std::optional<MovedParts> movedParts(const Expr& expr, const AxisRange& part, const Scalar& chunk);

}  // namespace tokamak
