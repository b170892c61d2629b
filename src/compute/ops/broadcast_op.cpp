#include "ir/ops/math/broadcast_op.h"

#include "compute/rules.h"

namespace tokamak {

void rule(const BroadcastOp& op, ElementBuilder& b) {
  std::vector<Scalar*> index;
  for (size_t i = 0; i < b.rank(); ++i) {
    if (!op.flags[i]) index.push_back(b.coordinate(i));
  }
  b.result(b.load(op.in, std::move(index)));
}

}  // namespace tokamak
