// Index type: whether 32 bits hold every index that a kernel computes.
#pragma once

#include <functional>
#include <optional>

#include "kernel/kernel.h"
#include "symbolic/interval.h"

namespace tokamak::kir {

/// I32 if all integer scalars of the kernel, and their parts, fit in 32 bits for these values of its symbols; else I64.
/// (Parameters are no indices.)
DataType indexTypeOf(const Kernel& kernel, const ScalarBindings& bindings);

/// Whether they fit in `bits` bits. (Fewer than 32 is for tests with small extents.)
bool areIndicesWithin(const Kernel& kernel, const ScalarBindings& bindings, int bits);

/// The same for intervals of the symbols' values.
DataType indexTypeOf(const Kernel& kernel, const std::function<std::optional<Interval>(const Scalar&)>& intervalOf);

}  // namespace tokamak::kir
