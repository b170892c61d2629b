#include "ir/ops/math/take_along_axis_op.h"

#include <algorithm>
#include <limits>

#include "oracle/index.h"
#include "oracle/op_context.h"

namespace tokamak::oracle {

OracleTensor compute(const TakeAlongAxisOp& op, const OpContext& context) {
  const OracleTensor& in = context[op.in];
  const OracleTensor& positions = context[op.index];
  const auto axis = static_cast<size_t>(op.axis);
  OracleTensor out = context.result(*op.out);
  // An axis of size 1 beside a longer one is read again and again.
  const auto elementOf = [&](const OracleTensor& tensor, std::vector<int64_t> at) {
    for (size_t i = 0; i < at.size(); ++i) {
      TK_REQUIRE(i == axis || tensor.sizes[i] == 1 || tensor.sizes[i] == out.sizes[i], Bind,
                 "take_along_axis: axis {} of {} and of {} have different sizes", i, toString(*op.in),
                 toString(*op.index));
      if (tensor.sizes[i] == 1) at[i] = 0;
    }
    return tensor.at(at);
  };
  const int64_t size = in.sizes[axis];
  forEachIndex(out.sizes, [&](std::span<const int64_t> index) {
    if (size == 0) return;
    std::vector<int64_t> source(index.begin(), index.end());
    const Element position = elementOf(positions, source);
    source[axis] = std::clamp<int64_t>(position.integer, 0, size - 1);
    Element& element = out.at(index) = elementOf(in, std::move(source));
    if (position.bound != 0) element.bound = std::numeric_limits<double>::infinity();
  });
  return out;
}

}  // namespace tokamak::oracle
