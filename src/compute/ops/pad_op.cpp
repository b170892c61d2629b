#include "ir/ops/math/pad_op.h"

#include "compute/rules.h"

namespace tokamak {

void rule(const PadOp& op, ElementBuilder& b) {
  const Axes shape = shapeOf(*op.in);
  std::vector<Scalar*> index;
  Scalar* is_inside = nullptr;
  for (size_t i = 0; i < b.rank(); ++i) {
    Scalar* before = op.widths[2 * i];
    const auto before_width = before->constantInt();
    const auto after_width = op.widths[2 * i + 1]->constantInt();
    Scalar* c = b.coordinate(i);
    // Where nothing is added behind, no condition says where the operand ends but the result's extent.
    Scalar* end = b.fusion().add(before, shape[i]->visibleExtent());
    b.requireEqual(b.fusion().add(end, op.widths[2 * i + 1]), b.extent(i));
    if (!before_width || *before_width > 0) is_inside = b.both(is_inside, b.lessEqual(before, c));
    if (!after_width || *after_width > 0) {
      is_inside = b.both(is_inside, b.less(c, end));
    }
    index.push_back(b.fusion().sub(c, before));
  }
  b.result(b.choose(is_inside, b.load(op.in, std::move(index)), b.value(op.value, op.in->dtype())));
}

}  // namespace tokamak
