#include "ir/ops/math/iota_op.h"

#include "compute/rules.h"

namespace tokamak {

void rule(const IotaOp& op, ElementBuilder& b) {
  // In f64, so that start + c * step is rounded once to a floating type even where the two terms nearly cancel.
  const DataType type = isFloatingType(op.dtype) ? DataType::F64 : op.dtype;
  const ElementRef scaled = b.apply(FunctionId::mul, {b.value(b.coordinate(0), type), b.value(op.step, type)});
  b.result(b.apply(FunctionId::add, {b.value(op.start, type), scaled}));
}

}  // namespace tokamak
