#include "ir/ops/math/select_op.h"

#include "oracle/index.h"
#include "oracle/op_context.h"

namespace tokamak::oracle {

OracleTensor compute(const SelectOp& op, const OpContext& context) {
  const OracleTensor& in = context[op.in];
  const int64_t chosen = context.integer(op.index);
  const int64_t size = in.sizes[static_cast<size_t>(op.axis)];
  TK_REQUIRE(chosen >= 0 && chosen < size, Bind,
             "select: index {} is out of bounds for axis {} of {}, whose size is {}", chosen, op.axis, toString(*op.in),
             size);
  OracleTensor out = context.result(*op.out);
  forEachIndex(out.sizes, [&](std::span<const int64_t> index) {
    std::vector<int64_t> source(index.begin(), index.end());
    source.insert(source.begin() + op.axis, chosen);
    out.at(index) = in.at(source);
  });
  return out;
}

}  // namespace tokamak::oracle
