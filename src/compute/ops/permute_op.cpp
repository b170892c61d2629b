#include "ir/ops/math/permute_op.h"

#include "compute/rules.h"

namespace tokamak {

void rule(const PermuteOp& op, ElementBuilder& b) {
  std::vector<Scalar*> index(b.rank());
  for (size_t i = 0; i < b.rank(); ++i) index[static_cast<size_t>(op.order[i])] = b.coordinate(i);
  b.result(b.load(op.in, std::move(index)));
}

}  // namespace tokamak
