// Sums of a function and 1, which some devices compute in one go.
#pragma once

#include "kernel/value.h"

namespace tokamak::kir {

/// Whether 1 + function(x) has a text of its own in the device code of some dialect: erf and tanh.
bool hasOnePlusFunction(FunctionId function);

/// Whether the value is this number.
bool isNumber(const Value& value, double number);

/// The other operand of a sum of f32 with 1, or null.
const Value* addedToOne(const Value& value);

}  // namespace tokamak::kir
