#include "ir/ops/math/cat_op.h"

#include "compute/rules.h"

namespace tokamak {

namespace {

// The element of operands [first, last), which are where `begins` says. Of many operands the half is chosen first: each
// is under as many conditions as there are halvings instead of as there are operands before it.
ElementRef elementOf(const CatOp& op, ElementBuilder& b, const std::vector<Scalar*>& begins, size_t first,
                     size_t last) {
  constexpr size_t kMostInOrder = 4;
  const auto axis = static_cast<size_t>(op.axis);
  if (last - first == 1) {
    std::vector<Scalar*> index = b.coordinates();
    index[axis] = b.fusion().sub(index[axis], begins[first]);
    return b.load(op.ins[first], std::move(index));
  }
  const size_t middle = last - first > kMostInOrder ? (first + last) / 2 : first + 1;
  const ElementRef later = elementOf(op, b, begins, middle, last);
  const ElementRef earlier = elementOf(op, b, begins, first, middle);
  return b.choose(b.less(b.coordinate(axis), begins[middle]), earlier, later);
}

}  // namespace

void rule(const CatOp& op, ElementBuilder& b) {
  const auto axis = static_cast<size_t>(op.axis);
  std::vector<Scalar*> begins = {b.constant(0)};
  for (const TensorView* in : op.ins) {
    const Axes shape = shapeOf(*in);
    for (size_t i = 0; i < shape.size(); ++i) {
      // Expanded operands alone give an expanded result, whose extent is nobody's to check.
      const bool is_compared = !shape[i]->isBroadcast() || !shapeOf(*op.out)[i]->isBroadcast();
      if (i != axis && is_compared) b.requireEqual(shape[i]->visibleExtent(), b.extent(i));
    }
    begins.push_back(b.fusion().add(begins.back(), shape[axis]->visibleExtent()));
  }
  // No condition says where the last operand ends but the result's extent.
  b.requireEqual(begins.back(), b.extent(axis));
  b.result(elementOf(op, b, begins, 0, op.ins.size()));
}

}  // namespace tokamak
