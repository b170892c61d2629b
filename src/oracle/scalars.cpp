#include "oracle/scalars.h"

#include <algorithm>

#include "base/require.h"
#include "oracle/functions.h"

namespace tokamak::oracle {

namespace {

Element elementOf(const ScalarValue& value, DataType dtype, Mode mode) {
  if (const auto* number = std::get_if<double>(&value))
    return convertElement({.number = *number}, DataType::F64, dtype, mode);
  if (const auto* integer = std::get_if<int64_t>(&value))
    return convertElement({.integer = *integer}, DataType::I64, dtype, mode);
  return convertElement({.integer = static_cast<int64_t>(std::get<bool>(value))}, DataType::Bool, dtype, mode);
}

// Made of integers alone: extents, indices and predicates, whose arithmetic is the IR's own.
bool isIntegral(const Scalar& scalar) {
  return !isFloatingType(scalar.dtype()) && scalar.op() != ScalarOp::Function &&
         std::ranges::all_of(scalar.operands(), [](const Scalar* operand) { return isIntegral(*operand); });
}

FunctionId functionOf(const Scalar& scalar) {
  switch (scalar.op()) {
    case ScalarOp::Add: return FunctionId::add;
    case ScalarOp::Sub: return FunctionId::sub;
    case ScalarOp::Mul: return FunctionId::mul;
    case ScalarOp::Min: return FunctionId::minimum;
    case ScalarOp::Max: return FunctionId::maximum;
    case ScalarOp::Equal: return FunctionId::eq;
    case ScalarOp::NotEqual: return FunctionId::ne;
    case ScalarOp::Less: return FunctionId::lt;
    case ScalarOp::LessEqual: return FunctionId::le;
    case ScalarOp::And: return FunctionId::logical_and;
    case ScalarOp::Or: return FunctionId::logical_or;
    case ScalarOp::Not: return FunctionId::logical_not;
    case ScalarOp::Select: return FunctionId::where;
    case ScalarOp::Function: return scalar.function();
    default: TK_RAISE(Unsupported, "{}: the reference has no floor division on floating scalars", toString(scalar));
  }
}

}  // namespace

Element evaluateScalarAs(DataType dtype, const Scalar& scalar, const ScalarBindings& bindings, Mode mode) {
  return convertElement(evaluateScalar(scalar, bindings, mode), scalar.dtype(), dtype, mode);
}

Element evaluateScalar(const Scalar& scalar, const ScalarBindings& bindings, Mode mode) {
  if (scalar.isConstant()) return elementOf(scalar.value(), scalar.dtype(), mode);
  if (const auto bound = bindings.find(&scalar); bound != bindings.end()) {
    return elementOf(bound->second, scalar.dtype(), mode);
  }
  if (isIntegral(scalar)) {
    const auto value = evaluate(scalar, bindings);
    if (value) return elementOf(*value, scalar.dtype(), mode);
  }
  TK_REQUIRE(!scalar.isSymbol(), Bind, "{}: the value of this scalar is not known; give it a value", toString(scalar));
  if (scalar.op() == ScalarOp::Cast) return evaluateScalarAs(scalar.dtype(), *scalar.operand(0), bindings, mode);
  const FunctionId function = functionOf(scalar);
  const bool chooses = functionInfo(function).rule == TypeRule::Choose;
  DataType promoted = scalar.operands().back()->dtype();
  for (const Scalar* operand : scalar.operands().subspan(chooses ? 1 : 0))
    promoted = promoteTypes(promoted, operand->dtype());
  const auto types = functionTypes(function, promoted);
  TK_REQUIRE(types.has_value(), Definition, "{}: not defined on operands of type {}", functionInfo(function).name,
             dataTypeName(promoted));
  std::vector<Element> operands;
  for (size_t i = 0; i < scalar.operands().size(); ++i) {
    const DataType type = chooses && i == 0 ? DataType::Bool : types->operand;
    operands.push_back(evaluateScalarAs(type, *scalar.operand(i), bindings, mode));
  }
  return convertElement(applyFunction(function, *types, operands, mode), types->result, scalar.dtype(), mode);
}

}  // namespace tokamak::oracle
