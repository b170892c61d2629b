#include "ir/ops/math/linear_op.h"

#include "oracle/dot.h"
#include "oracle/index.h"
#include "oracle/op_context.h"

namespace tokamak::oracle {

OracleTensor compute(const LinearOp& op, const OpContext& context) {
  const OracleTensor& in = context[op.in];
  const OracleTensor& weight = context[op.weight];
  const OracleTensor* bias = op.bias == nullptr ? nullptr : &context[op.bias];
  OracleTensor out = context.result(*op.out);
  const int64_t k = in.sizes.back();
  TK_REQUIRE(weight.sizes[1] == k, Bind, "linear: the inner sizes of {} and {} differ: {} and {}", toString(*op.in),
             toString(*op.weight), k, weight.sizes[1]);
  TK_REQUIRE(bias == nullptr || bias->sizes[0] == weight.sizes[0] || bias->sizes[0] == 1, Bind,
             "linear: the bias {} has size {}; {} is needed", toString(*op.bias), bias->sizes[0], weight.sizes[0]);
  forEachIndex(out.sizes, [&](std::span<const int64_t> index) {
    std::vector<int64_t> left(index.begin(), index.end());
    int64_t right[] = {index.back(), 0};
    Dot dot(in.dtype, context.mode());
    for (int64_t i = 0; i < k; ++i) {
      left.back() = i;
      right[1] = i;
      dot.add(in.at(left), weight.at(right));
    }
    const int64_t column[] = {bias != nullptr && bias->sizes[0] == 1 ? 0 : index.back()};
    out.at(index) = dot.finish(bias == nullptr ? nullptr : &bias->at(column));
  });
  return out;
}

}  // namespace tokamak::oracle
