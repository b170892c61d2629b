// Dropped axes: whether an op on slices without an axis is the op at one index of that axis.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "ir/expr.h"
#include "ir/tensor_view.h"

namespace tokamak {

/// Per operand and result the axis (of its visible shape) that is removed; whole tensors are not in it.
using DroppedAxes = std::unordered_map<const TensorView*, int64_t>;

/// Whether the op without the axes computes each element from the same elements as at one index of axis `axis` of its
/// result, by its type rule and element rule. [b, m, k] x [b, k, n] without m would be [b, k] x [b, k, n], another
/// product: such an op keeps an axis of one element.
bool isSameWithoutAxis(const Expr& expr, int64_t axis, const DroppedAxes& dropped);

}  // namespace tokamak
