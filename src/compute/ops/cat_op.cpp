#include "ir/ops/math/cat_op.h"

#include "compute/rules.h"

namespace tokamak {

void rule(const CatOp& op, ElementBuilder& b) {
  const auto axis = static_cast<size_t>(op.axis);
  std::vector<Scalar*> begins = {b.constant(0)};
  for (const TensorView* in : op.ins) {
    const Axes shape = shapeOf(*in);
    for (size_t i = 0; i < shape.size(); ++i) {
      if (i != axis && !shape[i]->isBroadcast()) b.requireEqual(shape[i]->extent(), b.extent(i));
    }
    begins.push_back(b.fusion().add(begins.back(), shape[axis]->visibleExtent()));
  }
  ElementRef value;
  for (size_t k = op.ins.size(); k-- > 0;) {
    std::vector<Scalar*> index = b.coordinates();
    index[axis] = b.fusion().sub(index[axis], begins[k]);
    ElementRef element = b.load(op.ins[k], std::move(index));
    value = value == nullptr ? element : b.choose(b.less(b.coordinate(axis), begins[k + 1]), element, value);
  }
  b.result(value);
}

}  // namespace tokamak
