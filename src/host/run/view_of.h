// What a statement gives as a view of what it reads: no copy, the operand's memory with other sizes and strides.
#pragma once

#include <optional>

#include "host/run/statement_runner.h"

namespace tokamak {

/// The result of `expr`, an op whose result may be a view, if `in` is its operand; nothing where the elements of a
/// reshape do not lie in an order that strides can tell. Interns scalars in the program. Errors: Bind for sizes that do
/// not fit the op.
std::optional<RunTensor> viewOf(const Expr& expr, const RunTensor& in, const ScalarBindings& scalars);

/// Whether the strides are what the tensor's stride order and layout ask for; without either all are.
bool isRequiredLayout(const TensorView& tensor, const RunTensor& value);

}  // namespace tokamak
