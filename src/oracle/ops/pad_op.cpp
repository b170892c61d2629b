#include "ir/ops/math/pad_op.h"

#include "oracle/index.h"
#include "oracle/op_context.h"

namespace tokamak::oracle {

OracleTensor compute(const PadOp& op, const OpContext& context) {
  const OracleTensor& in = context[op.in];
  OracleTensor out = context.result(*op.out);
  const Element border = context.scalarAs(in.dtype, op.value);
  std::vector<int64_t> before;
  for (size_t i = 0; i < in.sizes.size(); ++i) before.push_back(context.integer(op.widths[2 * i]));
  std::vector<int64_t> source(in.sizes.size());
  forEachIndex(out.sizes, [&](std::span<const int64_t> index) {
    bool is_inside = true;
    for (size_t i = 0; i < source.size(); ++i) {
      source[i] = index[i] - before[i];
      is_inside = is_inside && source[i] >= 0 && source[i] < in.sizes[i];
    }
    out.at(index) = is_inside ? in.at(source) : border;
  });
  return out;
}

}  // namespace tokamak::oracle
