// Moved parts: ops that put elements elsewhere along an axis (slice, pad, cat, reshape), each of whose parts is the op
// on other parts of its operands.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/fields.h"
#include "ir/fusion.h"

namespace tokamak {

/// A range of an axis: `extent` elements from `start` on. It may have none.
struct AxisRange {
  int64_t axis = 0;  ///< of a tensor's visible shape
  Scalar* start = nullptr;
  Scalar* extent = nullptr;
};

/// What gives a part of the op's result.
struct MovedParts {
  std::map<const TensorView*, std::vector<AxisRange>> operands;  ///< what is read of those that are not taken whole
  std::map<std::string_view, FieldValue> attributes;             ///< those that have other values
};

/// What the op reads for this range of an axis of its result, or nothing where the op moves nothing along the axis, or
/// reads more than one range of an axis. `chunk` is a bound of the range's extent, and its start is a multiple of that
/// (or the axis' end). The op reads no tensor twice (host/lower/apart_operands.h).
std::optional<MovedParts> movedParts(const Expr& expr, const AxisRange& part, const Scalar& chunk);

}  // namespace tokamak
