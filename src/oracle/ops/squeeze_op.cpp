#include "ir/ops/math/squeeze_op.h"

#include "oracle/op_context.h"

namespace tokamak::oracle {

OracleTensor compute(const SqueezeOp& op, const OpContext& context) {
  OracleTensor out = context[op.in];  // axes of size 1 do not move elements
  out.sizes = context.sizesOf(*op.out);
  return out;
}

}  // namespace tokamak::oracle
