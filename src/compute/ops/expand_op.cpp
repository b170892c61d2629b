#include "ir/ops/math/expand_op.h"

#include "compute/rules.h"

namespace tokamak {

void rule(const ExpandOp& op, ElementBuilder& b) {
  b.requireShapeOfResult(*op.in);
  for (size_t i = 0; i < b.rank(); ++i) b.requireEqual(op.shape[i], b.extent(i));
  b.result(b.loadHere(op.in));
}

}  // namespace tokamak
