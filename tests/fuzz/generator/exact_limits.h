// Which ops keep small integers exact in floating types, and how large their results can be.
#pragma once

#include <optional>
#include <span>

#include "symbolic/functions.h"

namespace tokamak::generator {

/// The limit of integers that may wrap.
inline constexpr double kNoLimit = 1e300;

/// Up to where every integer has its number in the type; no limit for integers and bool.
double exactCapacity(DataType dtype);
/// The largest magnitude of the function's result in `result`, given those of its operands; nothing when the result
/// might round. Integers wrap exactly, so that every function may be applied to them.
std::optional<double> exactLimit(FunctionId function, DataType result, std::span<const double> limits);

}  // namespace tokamak::generator
