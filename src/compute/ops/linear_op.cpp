#include "ir/ops/math/linear_op.h"

#include "compute/rules.h"

namespace tokamak {

void rule(const LinearOp& op, ElementBuilder& b) {
  const Axes weight = shapeOf(*op.weight);
  Scalar* inner = shapeOf(*op.in).back()->visibleExtent();
  b.requireEqual(inner, weight[1]->visibleExtent());
  const ReducedAxis k = b.reduced(inner);
  std::vector<Scalar*> in_index(b.coordinates().begin(), b.coordinates().end() - 1);
  in_index.push_back(k.coordinate);
  Scalar* column = b.coordinates().back();
  const ElementRef product =
      b.apply(FunctionId::mul, {b.load(op.in, in_index), b.load(op.weight, {column, k.coordinate})});
  ElementRef value = b.reduce(ReductionKind::Sum, {k}, product, computeType(op.in->dtype()));
  if (op.bias != nullptr) {
    const IterDomain* axis = shapeOf(*op.bias)[0];
    if (!axis->isBroadcast()) b.requireEqual(axis->extent(), b.extent(b.rank() - 1));
    value = b.apply(FunctionId::add, {value, b.load(op.bias, {column})});
  }
  b.result(value);
}

}  // namespace tokamak
