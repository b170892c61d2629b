#include "ir/ops/math/expand_op.h"

#include "oracle/index.h"
#include "oracle/op_context.h"

namespace tokamak::oracle {

OracleTensor compute(const ExpandOp& op, const OpContext& context) {
  const OracleTensor& in = context[op.in];
  const Axes axes = shapeOf(*op.in);
  OracleTensor out = context.result(*op.out);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t wanted = context.integer(op.shape[i]);
    const bool can_repeat = axes[i]->isBroadcast() && in.sizes[i] == 1;
    TK_REQUIRE(out.sizes[i] == wanted && (can_repeat || in.sizes[i] == wanted), Bind,
               "expand: axis {} of {} has size {} and cannot be expanded to {}; only broadcast axes can", i,
               toString(*op.in), in.sizes[i], wanted);
  }
  std::vector<int64_t> source(in.sizes.size());
  forEachIndex(out.sizes, [&](std::span<const int64_t> index) {
    for (size_t i = 0; i < source.size(); ++i) source[i] = in.sizes[i] == out.sizes[i] ? index[i] : 0;
    out.at(index) = in.at(source);
  });
  return out;
}

}  // namespace tokamak::oracle
