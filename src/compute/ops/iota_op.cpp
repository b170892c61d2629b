#include "ir/ops/math/iota_op.h"

#include "compute/rules.h"

namespace tokamak {

void rule(const IotaOp& op, ElementBuilder& b) {
  // In f64, so that start + c * step is rounded once to a floating type even where the two terms nearly cancel.
  const DataType type = isFloatingType(op.dtype) ? DataType::F64 : op.dtype;
  const bool is_plain = !isFloatingType(type);
  // Backwards in integers: of 0.0 + c * -1.0 compilers make -c, which is -0 where the sum is 0.
  const bool is_backwards = !is_plain && op.step->isConstant() && asDouble(op.step->value()) == -1;
  Scalar* count = is_backwards ? b.fusion().sub(b.constant(0), b.coordinate(0)) : b.coordinate(0);
  ElementRef value = b.value(count, type);
  // Of integers; 0 * -1 is -0 in floating types, and 0 + -0 is 0.
  const bool is_multiplied = is_plain ? !op.step->isConstantInt(1) : !is_backwards;
  if (is_multiplied) value = b.apply(FunctionId::mul, {value, b.value(op.step, type)});
  if (!is_plain || !op.start->isConstantInt(0)) value = b.apply(FunctionId::add, {b.value(op.start, type), value});
  b.result(value);
}

}  // namespace tokamak
