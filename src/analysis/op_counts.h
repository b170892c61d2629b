// Op counts: how much arithmetic a fusion does.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/fusion.h"

namespace tokamak {

/// Each function of an element and each step of a reduction counts as one, a product of an m x k and a k x n matrix as
/// 2 * m * n * k; casts, copies and moves as none. Nothing where a size is not known. Errors: none but of memory.
std::optional<double> arithmeticOf(const Fusion& fusion, const ScalarBindings& sizes);
/// The same of one op. Errors: Bind where a size is not known.
double arithmeticOf(const Expr& expr, const ScalarBindings& sizes);

}  // namespace tokamak
