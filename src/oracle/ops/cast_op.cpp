#include "ir/ops/math/cast_op.h"

#include "oracle/functions.h"
#include "oracle/op_context.h"

namespace tokamak::oracle {

OracleTensor compute(const CastOp& op, const OpContext& context) {
  const OracleTensor& in = context[op.in];
  OracleTensor out = zeros(op.out->dtype(), in.sizes);
  for (size_t i = 0; i < out.elements.size(); ++i) {
    out.elements[i] = convertElement(in.elements[i], in.dtype, out.dtype, context.mode());
  }
  return out;
}

}  // namespace tokamak::oracle
