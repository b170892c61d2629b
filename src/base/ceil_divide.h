// ceilDivide(): how many pieces of a size something has.
#pragma once

#include <cstdint>

namespace tokamak {

/// a / b rounded up. a >= 0, b > 0, and a + b - 1 fits.
constexpr int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace tokamak
