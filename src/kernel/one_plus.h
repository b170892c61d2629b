// Sums of a function and 1, for which device code may have one function.
#pragma once

#include "kernel/value.h"

namespace tokamak::kir {

/// Whether the device code of some dialect has a function for 1 + function(x): erf and tanh.
bool hasOnePlusFunction(FunctionId function);

/// Whether the value is this number.
bool isNumber(const Value& value, double number);

/// The other operand if the value is an f32 sum with 1, or null.
const Value* addedToOne(const Value& value);

}  // namespace tokamak::kir
