// Whether a number that a caller gives is one of the type that it becomes.
#pragma once

#include "symbolic/scalar.h"

namespace tokamak {

/// False for a number that becomes another one in an integer type: a fraction, NaN, or one out of range. Numbers of
/// other types always fit.
bool fits(const ScalarValue& number, DataType dtype);

}  // namespace tokamak
