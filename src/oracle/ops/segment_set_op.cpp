#include "ir/ops/math/segment_set_op.h"
#include "oracle/op_context.h"

namespace tokamak::oracle {

OracleTensor compute(const SegmentSetOp& op, const OpContext& context) { return context[op.in]; }

}  // namespace tokamak::oracle
