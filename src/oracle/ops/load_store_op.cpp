#include "ir/ops/math/load_store_op.h"
#include "oracle/op_context.h"

namespace tokamak::oracle {

OracleTensor compute(const LoadStoreOp& op, const OpContext& context) { return context[op.in]; }

}  // namespace tokamak::oracle
