#include "kernel/one_plus.h"

namespace tokamak::kir {

bool hasOnePlusFunction(FunctionId function) { return function == FunctionId::erf || function == FunctionId::tanh; }

bool isNumber(const Value& value, double number) {
  return value.kind == ValueKind::Number && value.scalar->isConstant() &&
         asDouble(convertValue(value.scalar->value(), value.dtype)) == number;
}

const Value* addedToOne(const Value& value) {
  if (value.kind != ValueKind::Apply || value.function != FunctionId::add || value.dtype != DataType::F32)
    return nullptr;
  if (isNumber(*value.operands[1], 1)) return value.operands[0].get();
  return isNumber(*value.operands[0], 1) ? value.operands[1].get() : nullptr;
}

}  // namespace tokamak::kir
