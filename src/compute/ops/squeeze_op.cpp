#include "ir/ops/math/squeeze_op.h"

#include "compute/rules.h"

namespace tokamak {

void rule(const SqueezeOp& op, ElementBuilder& b) {
  std::vector<Scalar*> index;
  size_t next = 0;
  for (const bool is_taken_away : op.flags) index.push_back(is_taken_away ? b.constant(0) : b.coordinate(next++));
  b.result(b.load(op.in, std::move(index)));
}

}  // namespace tokamak
