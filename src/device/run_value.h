// RunValue: what a call takes for an input.
#pragma once

#include <variant>

#include "device/tensor.h"
#include "symbolic/scalar.h"

namespace tokamak {

/// A value for an input or, to be written into, an output.
using RunValue = std::variant<Tensor, ScalarValue>;

}  // namespace tokamak
