#include "ir/ops/math/reshape_op.h"

#include "oracle/op_context.h"

namespace tokamak::oracle {

OracleTensor compute(const ReshapeOp& op, const OpContext& context) {
  OracleTensor out = context[op.in];  // row-major order is kept
  const int64_t have = out.count();
  out.sizes = context.sizesOf(*op.out);
  TK_REQUIRE(countOf(out.sizes) == have, Bind, "reshape: {} has {} elements, the new shape {}", toString(*op.in), have,
             countOf(out.sizes));
  return out;
}

}  // namespace tokamak::oracle
