#include "ir/ops/math/linear_op.h"

#include "oracle/matrix_product.h"
#include "oracle/op_context.h"

namespace tokamak::oracle {

OracleTensor compute(const LinearOp& op, const OpContext& context) {
  const OracleTensor& in = context[op.in];
  const OracleTensor& weight = context[op.weight];
  const OracleTensor* bias = op.bias == nullptr ? nullptr : &context[op.bias];
  OracleTensor out = context.result(*op.out);
  const int64_t k = in.sizes.back();
  TK_REQUIRE(weight.sizes.back() == k, Bind, "linear: the inner sizes of {} and {} differ: {} and {}", toString(*op.in),
             toString(*op.weight), k, weight.sizes.back());
  const int64_t columns = weight.rank() == 1 ? 1 : weight.sizes[0];
  const int64_t biases_given = bias == nullptr ? 0 : bias->count();
  TK_REQUIRE(bias == nullptr || biases_given == columns || biases_given == 1, Bind,
             "linear: the bias {} has size {}; {} is needed", toString(*op.bias), biases_given, columns);
  std::vector<Element> biases;
  for (int64_t j = 0; bias != nullptr && j < columns; ++j)
    biases.push_back(bias->elements[biases_given == 1 ? 0 : static_cast<size_t>(j)]);
  const Lines rows{.elements = in.elements,
                   .count = columns == 0 ? 0 : out.count() / columns,
                   .inner = k,
                   .stride = k,
                   .inner_stride = 1};
  const Lines weights{.elements = weight.elements, .count = columns, .inner = k, .stride = k, .inner_stride = 1};
  multiplyLines({in.dtype, out.dtype}, context.mode(), rows, weights, biases, out.elements);
  return out;
}

}  // namespace tokamak::oracle
