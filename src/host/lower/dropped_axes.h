// Dropped axes: whether an op on slices that lack an axis still means the op at one index of that axis.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "ir/expr.h"
#include "ir/tensor_view.h"

namespace tokamak {

/// Per operand and result the axis (of its visible shape) that is taken away; a tensor that is used whole is not in it.
using DroppedAxes = std::unordered_map<const TensorView*, int64_t>;

/// Whether the op without the axes computes each element from the same elements as the op does at one index of axis
/// `axis` of its result; told from the op's type rule and element rule. [b, m, k] x [b, k, n] without m would be
/// [b, k] x [b, k, n], another product: such an op keeps an axis of one element.
bool isSameWithoutAxis(const Expr& expr, int64_t axis, const DroppedAxes& dropped);

}  // namespace tokamak
