#include "ir/ops/math/slice_op.h"

#include "oracle/index.h"
#include "oracle/op_context.h"

namespace tokamak::oracle {

OracleTensor compute(const SliceOp& op, const OpContext& context) {
  const OracleTensor& in = context[op.in];
  OracleTensor out = context.result(*op.out);
  std::vector<int64_t> starts;
  std::vector<int64_t> steps;
  for (size_t i = 0; i < in.sizes.size(); ++i) {
    starts.push_back(context.integer(op.starts[i]));
    steps.push_back(context.integer(op.steps[i]));
    const int64_t stop = context.integer(op.stops[i]);
    TK_REQUIRE(0 <= starts[i] && starts[i] <= stop && stop <= in.sizes[i], Bind,
               "slice: range [{}, {}) is outside axis {} of {}, whose size is {}; 0 <= start <= stop <= size must hold",
               starts[i], stop, i, toString(*op.in), in.sizes[i]);
  }
  std::vector<int64_t> source(in.sizes.size());
  forEachIndex(out.sizes, [&](std::span<const int64_t> index) {
    for (size_t i = 0; i < source.size(); ++i) source[i] = starts[i] + index[i] * steps[i];
    out.at(index) = in.at(source);
  });
  return out;
}

}  // namespace tokamak::oracle
