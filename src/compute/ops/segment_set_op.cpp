#include "ir/ops/math/segment_set_op.h"

#include "compute/rules.h"

namespace tokamak {

void rule(const SegmentSetOp& op, ElementBuilder& b) {
  b.requireShapeOfResult(*op.in);
  b.result(b.loadHere(op.in));
}

}  // namespace tokamak
