#include "ir/ops/math/cast_op.h"

#include "compute/rules.h"

namespace tokamak {

void rule(const CastOp& op, ElementBuilder& b) {
  b.result(b.loadHere(op.in));  // the result's type is op.dtype, and a result is converted to its type
}

}  // namespace tokamak
