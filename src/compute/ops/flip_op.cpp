#include "ir/ops/math/flip_op.h"

#include "compute/rules.h"

namespace tokamak {

void rule(const FlipOp& op, ElementBuilder& b) {
  Fusion& fusion = b.fusion();
  std::vector<Scalar*> index = b.coordinates();
  for (const int64_t axis : op.axes) {
    const auto at = static_cast<size_t>(axis);
    index[at] = fusion.sub(fusion.sub(b.extent(at), b.constant(1)), b.coordinate(at));
  }
  b.result(b.load(op.in, std::move(index)));
}

}  // namespace tokamak
