// Binds symbols to the actual sizes of tensors, and computes sizes and strides from bound symbols.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/tensor_view.h"
#include "symbolic/scalar.h"

namespace tokamak {

/// Binds the symbols that are extents of `tv`'s visible axes to `sizes`, and then the last unknown symbol of an extent
/// such as ( n * 4 ) or ( n + 1 ).
/// Errors: Bind if the rank differs or a symbol has another value; the message names tensor and axis.
void bindShape(const TensorView& tv, std::span<const int64_t> sizes, ScalarBindings& bindings);

/// Checks sizes against extents that are known under `bindings`, and strides against contiguity and stride order.
/// Errors: Bind, with the tensor, the axis, the expected and the actual value.
void requireLayout(const TensorView& tv, std::span<const int64_t> sizes, std::span<const int64_t> strides,
                   const ScalarBindings& bindings);

/// The visible sizes of `tv`: without reductions, with expanded extents. Errors: Bind if an extent is unknown or
/// negative.
std::vector<int64_t> sizesOf(const TensorView& tv, const ScalarBindings& bindings);

/// The visible axes in the declared order of memory, slowest first.
std::vector<size_t> memoryOrder(const TensorView& tv);

/// Strides in elements of a new buffer for `tv`: dense in the order of its layout decision, requirement or hint, else
/// row-major; 0 along broadcast axes.
std::vector<int64_t> freshStrides(const TensorView& tv, std::span<const int64_t> sizes);

/// The number of elements that an access with these sizes and strides (>= 0) spans: the index of the last one plus 1.
/// Errors: OutOfMemory when it does not fit 63 bits.
int64_t spanOf(std::span<const int64_t> sizes, std::span<const int64_t> strides);

}  // namespace tokamak
