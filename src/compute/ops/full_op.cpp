#include "ir/ops/math/full_op.h"

#include "compute/rules.h"

namespace tokamak {

void rule(const FullOp& op, ElementBuilder& b) { b.result(b.value(op.value, op.dtype)); }

}  // namespace tokamak
