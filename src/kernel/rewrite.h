// Copies of kernel statements with their scalars replaced.
#pragma once

#include <functional>

#include "kernel/kernel.h"

namespace tokamak::kir {

/// Every scalar of the statements (indices of loops included) goes through `replace`.
Statements withScalars(const Statements& statements, const std::function<Scalar*(Scalar*)>& replace);

/// Calls `visit` for every scalar that the statements mention, indices of loops included.
void visitScalars(const Statements& statements, const std::function<void(Scalar&)>& visit);

}  // namespace tokamak::kir
