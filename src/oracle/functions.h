// One row of the function table on single elements, with its error bound.
#pragma once

#include <span>

#include "oracle/rounding.h"
#include "oracle/tensor.h"
#include "symbolic/functions.h"

namespace tokamak::oracle {

/// `function` of operands that all have type `operand` (operand 0 of a choice: bool), as an element of `result`.
///
/// The bound is what uncertain operands can change (the function at the corners of their intervals) plus the function's
/// own error by its Accuracy: nothing where the exact result is representable, else 2 ulp, and 4 more for Approx.
Element applyFunction(FunctionId function, FunctionTypes types, std::span<const Element> operands, Mode mode);

/// `element` of type `from` as one of type `to`, by the rules of a cast. A narrowing of an exact value is exact.
Element convertElement(const Element& element, DataType from, DataType to, Mode mode);

}  // namespace tokamak::oracle
