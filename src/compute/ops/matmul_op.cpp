#include "ir/ops/math/matmul_op.h"

#include "compute/rules.h"

namespace tokamak {

namespace {

// The coordinates of the result's leading axes that line up with the operand's, from the right.
std::vector<Scalar*> batchIndex(const Axes& shape, size_t batch, ElementBuilder& b) {
  std::vector<Scalar*> index;
  const size_t own = shape.size() < 2 ? 0 : shape.size() - 2;
  for (size_t i = 0; i < own; ++i) {
    const size_t axis = batch - own + i;
    if (!shape[i]->isBroadcast()) b.requireEqual(shape[i]->extent(), b.extent(axis));
    index.push_back(b.coordinate(axis));
  }
  return index;
}

}  // namespace

void rule(const MatmulOp& op, ElementBuilder& b) {
  const Axes left = shapeOf(*op.a);
  const Axes right = shapeOf(*op.b);
  const size_t batch = b.rank() - (left.size() > 1 ? 1 : 0) - (right.size() > 1 ? 1 : 0);
  const size_t right_k = right.size() < 2 ? 0 : right.size() - 2;
  b.requireEqual(left.back()->visibleExtent(), right[right_k]->visibleExtent());
  const ReducedAxis k = b.reduced(left.back()->visibleExtent());
  std::vector<Scalar*> left_index = batchIndex(left, batch, b);
  std::vector<Scalar*> right_index = batchIndex(right, batch, b);
  if (left.size() > 1) left_index.push_back(b.coordinate(batch));
  left_index.push_back(k.coordinate);
  right_index.push_back(k.coordinate);
  if (right.size() > 1) right_index.push_back(b.coordinate(b.rank() - 1));
  const DataType type = computeType(op.a->dtype());
  const ElementRef product = b.apply(FunctionId::mul, {b.load(op.a, left_index), b.load(op.b, right_index)});
  b.result(b.reduce(ReductionKind::Sum, {k}, product, type));
}

}  // namespace tokamak
