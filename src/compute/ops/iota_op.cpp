#include "ir/ops/math/iota_op.h"

#include "compute/rules.h"

namespace tokamak {

void rule(const IotaOp& op, ElementBuilder& b) {
  // In f64, so that start + c * step is rounded once to a floating type even where the two terms nearly cancel.
  const DataType type = isFloatingType(op.dtype) ? DataType::F64 : op.dtype;
  ElementRef value = b.value(b.coordinate(0), type);
  // Of integers; 0 * -1 is -0 in floating types, and 0 + -0 is 0.
  const bool is_plain = !isFloatingType(type);
  if (!is_plain || !op.step->isConstantInt(1)) value = b.apply(FunctionId::mul, {value, b.value(op.step, type)});
  if (!is_plain || !op.start->isConstantInt(0)) value = b.apply(FunctionId::add, {b.value(op.start, type), value});
  b.result(value);
}

}  // namespace tokamak
