#include "kernel/value.h"

#include "base/require.h"

namespace tokamak::kir {

namespace {

ValueRef make(Value value) { return std::make_shared<const Value>(std::move(value)); }

}  // namespace

FunctionId combiningFunction(ReductionKind kind) {
  switch (kind) {
    case ReductionKind::Sum: return FunctionId::add;
    case ReductionKind::Prod: return FunctionId::mul;
    case ReductionKind::Max: return FunctionId::maximum;
    case ReductionKind::Min: return FunctionId::minimum;
  }
  TK_CHECK(false, "no such reduction");
}

ValueRef load(const TensorView& tensor, Scalar* index) {
  return make({.kind = ValueKind::Load, .dtype = tensor.dtype(), .tensor = &tensor, .scalar = index});
}

ValueRef use(VariableRef variable) {
  const DataType dtype = variable->dtype;
  return make({.kind = ValueKind::Variable, .dtype = dtype, .variable = std::move(variable)});
}

ValueRef number(Scalar* scalar, DataType dtype) {
  return make({.kind = ValueKind::Number, .dtype = dtype, .scalar = scalar});
}

ValueRef apply(FunctionId function, DataType dtype, std::vector<ValueRef> operands) {
  return make({.kind = ValueKind::Apply, .dtype = dtype, .function = function, .operands = std::move(operands)});
}

ValueRef cast(DataType dtype, ValueRef operand) {
  if (operand->dtype == dtype) return operand;
  return make({.kind = ValueKind::Cast, .dtype = dtype, .operands = {std::move(operand)}});
}

ValueRef choose(Scalar* predicate, ValueRef a, ValueRef b) {
  const DataType dtype = a->dtype;
  return make(
      {.kind = ValueKind::Choose, .dtype = dtype, .scalar = predicate, .operands = {std::move(a), std::move(b)}});
}

}  // namespace tokamak::kir
