// Relates the actual sizes and strides of a tensor to its extents, and the other way round.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/tensor_view.h"
#include "symbolic/scalar.h"

namespace tokamak {

/// Gives the symbols that are extents of `tv`'s visible axes their values from `sizes`.
/// Errors: Bind when the rank differs or a symbol already has another value; the message names tensor and axis.
void bindShape(const TensorView& tv, std::span<const int64_t> sizes, ScalarBindings& bindings);

/// Checks sizes against extents that are known under `bindings`, and strides against contiguity and stride order.
/// Errors: Bind, naming the tensor, the axis, what was expected and what came.
void requireLayout(const TensorView& tv, std::span<const int64_t> sizes, std::span<const int64_t> strides,
                   const ScalarBindings& bindings);

/// The visible sizes of `tv` (reductions left out, expanded extents shown). Errors: Bind when an extent is not known or
/// negative.
std::vector<int64_t> sizesOf(const TensorView& tv, const ScalarBindings& bindings);

/// Positions of the visible axes from the slowest to the fastest in memory, as the tensor declares them.
std::vector<size_t> memoryOrder(const TensorView& tv);

/// Strides in elements of a fresh buffer for `tv`: dense in the order of its layout decision, requirement or hint, else
/// row-major; 0 along broadcast axes, whose single element is stored once.
std::vector<int64_t> freshStrides(const TensorView& tv, std::span<const int64_t> sizes);

/// The number of elements that an access with these sizes and strides (>= 0) spans: the index of the last one plus 1.
/// Errors: OutOfMemory when it does not fit 63 bits.
int64_t spanOf(std::span<const int64_t> sizes, std::span<const int64_t> strides);

}  // namespace tokamak
