// The type of a number without a suffix among the operands of an elementwise function: mul(T0, 0.5).
#pragma once

#include <optional>
#include <span>

#include "symbolic/functions.h"

namespace tokamak {

struct FunctionOperand {
  std::optional<DataType> dtype;  ///< nothing for a plain number
  bool is_floating_number = false;
};

/// The operand type of the function on the common type of the operands that have one; a floating number makes that at
/// least f32, an integer at least i64 where it would be bool. Nothing when the function refuses the type.
std::optional<DataType> plainNumberType(FunctionId function, std::span<const FunctionOperand> operands,
                                        size_t position);

}  // namespace tokamak
