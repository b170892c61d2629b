// Alias checks of a caller's buffers: whether tensors are one another's, share bytes, or repeat their own.
#pragma once

#include "device/tensor.h"
#include "ir/tensor_view.h"

namespace tokamak {

/// Whether some element of `a` shares a byte with one of `b`, decided exactly. Takes from the heap only when the one
/// lies between the other's elements.
bool sharesBytes(const Tensor& a, const Tensor& b);

/// Whether both are the same elements at the same addresses.
bool isSameMemory(const Tensor& a, const Tensor& b);

/// Whether two elements with different indices share a byte; a stride of 0 along an axis of several elements counts,
/// unless one element stands for all along it: `shape` has a broadcast axis there.
bool repeatsElements(const Tensor& tensor, const Axes& shape);

}  // namespace tokamak
