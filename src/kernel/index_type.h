// Index type: whether 32 bits hold every index that a kernel computes.
#pragma once

#include <functional>
#include <optional>

#include "kernel/kernel.h"
#include "symbolic/interval.h"

namespace tokamak::kir {

/// I32 when no integer scalar of the kernel, nor a part of one, can leave the range of 32-bit integers under these
/// values of its symbols; else I64. Parameters are no indices, whatever their values.
DataType indexTypeOf(const Kernel& kernel, const ScalarBindings& bindings);

/// Whether `bits` bits are enough for them, by the same rule: 32 is what kernels are asked, fewer is for tests, whose
/// extents are small.
bool areIndicesWithin(const Kernel& kernel, const ScalarBindings& bindings, int bits);

/// As the first when all that is known of an integer symbol is the interval that it is in.
DataType indexTypeOf(const Kernel& kernel, const std::function<std::optional<Interval>(const Scalar&)>& intervalOf);

}  // namespace tokamak::kir
