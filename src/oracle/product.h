// Products and extremes of floating terms, whatever the order they are combined in.
#pragma once

#include <span>

#include "oracle/rounding.h"
#include "oracle/tensor.h"

namespace tokamak::oracle {

/// The product as accumulated in `accumulator` and stored as `result`: exact where no order can round, without promise
/// where some order overflows or loses bits to underflow; else within one rounding per factor.
Element productOf(std::span<const Element> terms, DataType accumulator, DataType result, Mode mode);

enum class Extreme : uint8_t { Largest, Smallest };
/// NaN if any term is; of zeros the positive one is the larger. Infinite for no terms.
Element extremeOf(std::span<const Element> terms, Extreme extreme);

}  // namespace tokamak::oracle
