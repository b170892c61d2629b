#include "ir/ops/math/matmul_op.h"

#include "oracle/index.h"
#include "oracle/matrix_product.h"
#include "oracle/op_context.h"

namespace tokamak::oracle {

namespace {

// Where the matrix of a batch index starts: batch axes are aligned at the end, broadcast axes stay at 0.
size_t matrixStart(const OracleTensor& tensor, size_t batch_axes, std::span<const int64_t> batch,
                   int64_t matrix_elements) {
  int64_t number = 0;
  for (size_t i = 0; i < batch_axes; ++i) {
    const int64_t at = batch[batch.size() - batch_axes + i];
    number = number * tensor.sizes[i] + (tensor.sizes[i] == 1 ? 0 : at);
  }
  return static_cast<size_t>(number * matrix_elements);
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
  const int64_t rows = has_rows ? a.sizes[a_batch] : 1;
  const int64_t columns = has_columns ? b.sizes.back() : 1;
  size_t next = 0;
  forEachIndex(std::span(out.sizes).first(batch_axes), [&](std::span<const int64_t> batch) {
    const size_t a_start = matrixStart(a, a_batch, batch, rows * k);
    const size_t b_start = matrixStart(b, b_batch, batch, k * columns);
    const Lines left{
        .elements = std::span(a.elements).subspan(a_start), .count = rows, .inner = k, .stride = k, .inner_stride = 1};
    const Lines right{.elements = std::span(b.elements).subspan(b_start),
                      .count = columns,
                      .inner = k,
                      .stride = 1,
                      .inner_stride = columns};
    multiplyLines({a.dtype, out.dtype}, context.mode(), left, right, {}, std::span(out.elements).subspan(next));
    next += static_cast<size_t>(rows * columns);
  });
  return out;
}

}  // namespace tokamak::oracle
