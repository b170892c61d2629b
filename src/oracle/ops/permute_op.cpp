#include "ir/ops/math/permute_op.h"

#include "oracle/index.h"
#include "oracle/op_context.h"

namespace tokamak::oracle {

OracleTensor compute(const PermuteOp& op, const OpContext& context) {
  const OracleTensor& in = context[op.in];
  OracleTensor out = context.result(*op.out);
  std::vector<int64_t> source(in.sizes.size());
  forEachIndex(out.sizes, [&](std::span<const int64_t> index) {
    for (size_t i = 0; i < index.size(); ++i) source[static_cast<size_t>(op.order[i])] = index[i];
    out.at(index) = in.at(source);
  });
  return out;
}

}  // namespace tokamak::oracle
