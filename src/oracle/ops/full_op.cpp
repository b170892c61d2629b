#include "ir/ops/math/full_op.h"

#include "oracle/op_context.h"

namespace tokamak::oracle {

OracleTensor compute(const FullOp& op, const OpContext& context) {
  OracleTensor out = context.result(*op.out);
  const Element value = context.scalarAs(op.dtype, op.value);
  for (Element& element : out.elements) element = value;
  return out;
}

}  // namespace tokamak::oracle
