#include "ir/ops/math/cat_op.h"

#include "oracle/index.h"
#include "oracle/op_context.h"

namespace tokamak::oracle {

OracleTensor compute(const CatOp& op, const OpContext& context) {
  OracleTensor out = context.result(*op.out);
  const auto axis = static_cast<size_t>(op.axis);
  int64_t first = 0;
  for (const TensorView* operand : op.ins) {
    const OracleTensor& in = context[operand];
    for (size_t i = 0; i < in.sizes.size(); ++i) {
      TK_REQUIRE(i == axis || in.sizes[i] == out.sizes[i], Bind, "cat: axis {} of {} has size {}; the others have {}",
                 i, toString(*operand), in.sizes[i], out.sizes[i]);
    }
    forEachIndex(in.sizes, [&](std::span<const int64_t> index) {
      std::vector<int64_t> target(index.begin(), index.end());
      target[axis] += first;
      out.at(target) = in.at(index);
    });
    first += in.sizes[axis];
  }
  return out;
}

}  // namespace tokamak::oracle
