#include "ir/ops/math/slice_op.h"

#include "compute/rules.h"

namespace tokamak {

void rule(const SliceOp& op, ElementBuilder& b) {
  Fusion& fusion = b.fusion();
  std::vector<Scalar*> index;
  for (size_t i = 0; i < b.rank(); ++i) {
    index.push_back(fusion.add(op.starts[i], fusion.mul(b.coordinate(i), op.steps[i])));
  }
  b.result(b.load(op.in, std::move(index)));
}

}  // namespace tokamak
