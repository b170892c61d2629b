#include "ir/ops/math/flip_op.h"

#include "oracle/index.h"
#include "oracle/op_context.h"

namespace tokamak::oracle {

OracleTensor compute(const FlipOp& op, const OpContext& context) {
  const OracleTensor& in = context[op.in];
  OracleTensor out = context.result(*op.out);
  forEachIndex(out.sizes, [&](std::span<const int64_t> index) {
    std::vector<int64_t> source(index.begin(), index.end());
    for (const int64_t axis : op.axes) {
      const auto at = static_cast<size_t>(axis);
      source[at] = in.sizes[at] - 1 - source[at];
    }
    out.at(index) = in.at(source);
  });
  return out;
}

}  // namespace tokamak::oracle
