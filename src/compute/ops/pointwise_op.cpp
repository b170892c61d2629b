#include "ir/ops/math/pointwise_op.h"

#include "compute/rules.h"

namespace tokamak {

void rule(const PointwiseOp& op, ElementBuilder& b) {
  std::vector<ElementRef> operands;
  for (Val* in : op.ins) {
    if (Scalar* scalar = asScalar(in)) {
      operands.push_back(b.value(scalar, scalar->dtype()));
      continue;
    }
    b.requireShapeOfResult(*asTensor(in));
    operands.push_back(b.loadHere(asTensor(in)));
  }
  b.result(b.apply(op.function, std::move(operands)));
}

}  // namespace tokamak
