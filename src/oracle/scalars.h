// The values of scalars: symbols as bound, integers in 64 bits, floating expressions by the oracle's own functions.
#pragma once

#include "oracle/rounding.h"
#include "oracle/tensor.h"
#include "symbolic/scalar.h"

namespace tokamak::oracle {

/// The value of `scalar` as an element of its type. Errors: Bind when a symbol in it has no value.
Element evaluateScalar(const Scalar& scalar, const ScalarBindings& bindings, Mode mode);
/// The same as an element of `dtype`.
Element evaluateScalarAs(DataType dtype, const Scalar& scalar, const ScalarBindings& bindings, Mode mode);

}  // namespace tokamak::oracle
