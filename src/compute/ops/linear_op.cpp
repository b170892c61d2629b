#include "ir/ops/math/linear_op.h"

#include "compute/rules.h"

namespace tokamak {

void rule(const LinearOp& op, ElementBuilder& b) {
  const Axes weight = shapeOf(*op.weight);
  Scalar* inner = shapeOf(*op.in).back()->visibleExtent();
  b.requireEqual(inner, weight.back()->visibleExtent());
  const ReducedAxis k = b.reduced(inner);
  // The weight's columns, absent where it is a vector.
  const auto columns = static_cast<std::ptrdiff_t>(weight.size()) - 1;
  const std::vector<Scalar*> column(b.coordinates().end() - columns, b.coordinates().end());
  std::vector<Scalar*> in_index(b.coordinates().begin(), b.coordinates().end() - columns);
  in_index.push_back(k.coordinate);
  std::vector<Scalar*> weight_index = column;
  weight_index.push_back(k.coordinate);
  const ElementRef product = b.apply(FunctionId::mul, {b.load(op.in, in_index), b.load(op.weight, weight_index)});
  ElementRef value = b.reduce(ReductionKind::Sum, {k}, product, computeType(op.in->dtype()));
  if (op.bias != nullptr) {
    for (const IterDomain* axis : shapeOf(*op.bias)) {
      if (!axis->isBroadcast()) b.requireEqual(axis->extent(), b.extent(b.rank() - 1));
    }
    value = b.apply(FunctionId::add, {value, b.load(op.bias, column)});
  }
  b.result(value);
}

}  // namespace tokamak
