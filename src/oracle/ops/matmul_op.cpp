#include "ir/ops/math/matmul_op.h"

#include "oracle/dot.h"
#include "oracle/index.h"
#include "oracle/op_context.h"

namespace tokamak::oracle {

namespace {

// The index into a tensor's batch axes for the result's batch index: aligned at the end, broadcast axes at 0.
std::vector<int64_t> batchIndex(const OracleTensor& tensor, size_t batch_axes, std::span<const int64_t> batch) {
  std::vector<int64_t> index;
  for (size_t i = 0; i < batch_axes; ++i) {
    const int64_t at = batch[batch.size() - batch_axes + i];
    index.push_back(tensor.sizes[i] == 1 ? 0 : at);
  }
  return index;
}

void checkBatch(const TensorView& operand, const OracleTensor& tensor, size_t batch_axes,
                std::span<const int64_t> batch) {
  for (size_t i = 0; i < batch_axes; ++i) {
    const int64_t wanted = batch[batch.size() - batch_axes + i];
    TK_REQUIRE(tensor.sizes[i] == 1 || tensor.sizes[i] == wanted, Bind,
               "matmul: axis {} of {} has size {}; {} is needed", i, toString(operand), tensor.sizes[i], wanted);
  }
}

}  // namespace

OracleTensor compute(const MatmulOp& op, const OpContext& context) {
  const OracleTensor& a = context[op.a];
  const OracleTensor& b = context[op.b];
  OracleTensor out = context.result(*op.out);
  const bool has_rows = a.rank() > 1;
  const bool has_columns = b.rank() > 1;
  const size_t a_batch = has_rows ? a.sizes.size() - 2 : 0;
  const size_t b_batch = has_columns ? b.sizes.size() - 2 : 0;
  const size_t batch_axes = out.sizes.size() - static_cast<size_t>(has_rows) - static_cast<size_t>(has_columns);
  const int64_t k = a.sizes.back();
  TK_REQUIRE(b.sizes[b_batch] == k, Bind, "matmul: the inner sizes of {} and {} differ: {} and {}", toString(*op.a),
             toString(*op.b), k, b.sizes[b_batch]);
  checkBatch(*op.a, a, a_batch, std::span(out.sizes).first(batch_axes));
  checkBatch(*op.b, b, b_batch, std::span(out.sizes).first(batch_axes));
  forEachIndex(out.sizes, [&](std::span<const int64_t> index) {
    std::vector<int64_t> left = batchIndex(a, a_batch, index.first(batch_axes));
    std::vector<int64_t> right = batchIndex(b, b_batch, index.first(batch_axes));
    if (has_rows) left.push_back(index[batch_axes]);
    left.push_back(0);
    right.push_back(0);
    if (has_columns) right.push_back(index.back());
    Dot dot(a.dtype, context.mode());
    for (int64_t i = 0; i < k; ++i) {
      left.back() = i;
      right[b_batch] = i;
      dot.add(a.at(left), b.at(right));
    }
    out.at(index) = dot.finish(nullptr);
  });
  return out;
}

}  // namespace tokamak::oracle
