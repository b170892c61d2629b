#include "ir/ops/math/load_store_op.h"

#include "compute/rules.h"

namespace tokamak {

void rule(const LoadStoreOp& op, ElementBuilder& b) {
  b.requireShapeOfResult(*op.in);
  b.result(b.loadHere(op.in));
}

}  // namespace tokamak
