#include "ir/ops/math/iota_op.h"

#include "oracle/functions.h"
#include "oracle/op_context.h"

namespace tokamak::oracle {

OracleTensor compute(const IotaOp& op, const OpContext& context) {
  OracleTensor out = context.result(*op.out);
  // Half types count in f32, as all arithmetic on them.
  const DataType type = computeType(op.dtype);
  const Element start = context.scalarAs(type, op.start);
  const Element step = context.scalarAs(type, op.step);
  const auto call = [&](FunctionId function, const Element& a, const Element& b) {
    const Element operands[] = {a, b};
    return applyFunction(function, {.operand = type, .result = type}, operands, context.mode());
  };
  for (int64_t i = 0; i < out.count(); ++i) {
    const Element position = convertElement({.integer = i}, DataType::I64, type, context.mode());
    const Element value = call(FunctionId::add, start, call(FunctionId::mul, position, step));
    out.elements[static_cast<size_t>(i)] = convertElement(value, type, op.dtype, context.mode());
  }
  return out;
}

}  // namespace tokamak::oracle
