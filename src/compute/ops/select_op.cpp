#include "ir/ops/math/select_op.h"

#include "compute/rules.h"

namespace tokamak {

void rule(const SelectOp& op, ElementBuilder& b) {
  std::vector<Scalar*> index = b.coordinates();
  index.insert(index.begin() + op.axis, op.index);
  b.result(b.load(op.in, std::move(index)));
}

}  // namespace tokamak
