#include "ir/ops/math/take_along_axis_op.h"

#include "compute/rules.h"

namespace tokamak {

void rule(const TakeAlongAxisOp& op, ElementBuilder& b) {
  const auto axis = static_cast<size_t>(op.axis);
  const Axes shape = shapeOf(*op.in);
  b.requireShapeOfResult(*op.index);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i != axis && !shape[i]->isBroadcast()) b.requireEqual(shape[i]->extent(), b.extent(i));
  }
  b.result(b.indexed(b.loadHere(op.index), shape[axis]->visibleExtent(), [&](Scalar* position) {
    std::vector<Scalar*> index = b.coordinates();
    index[axis] = position;
    return b.load(op.in, std::move(index));
  }));
}

}  // namespace tokamak
