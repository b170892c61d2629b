// GemmProblem: a matmul or linear op bound to sizes and strides, as one batched product of matrices with a bias.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "device/device.h"
#include "device/work.h"
#include "ir/expr.h"

namespace tokamak {

/// How a matrix (or what is repeated as one) lies in memory, in elements.
struct MatrixStrides {
  int64_t row = 0;
  int64_t column = 0;
};

/// c[batch, m, n] = sum over k of a[batch, m, k] * b[batch, k, n], + bias[m, n] where there is one.
struct GemmProblem {
  struct Batch {
    int64_t size, a, b, c;  ///< how often, and the strides
  };
  int64_t m = 1;
  int64_t n = 1;
  int64_t k = 1;
  MatrixStrides a, b, c, bias;
  size_t a_operand = 0;
  size_t b_operand = 1;
  std::optional<size_t> bias_operand;
  size_t c_operand = 2;
  std::vector<Batch> batches;
  DataType dtype = DataType::F32;   ///< of a, b and bias
  DataType result = DataType::F32;  ///< of c

  int64_t batchCount() const;
  bool isEmpty() const { return m == 0 || n == 0 || batchCount() == 0; }
};

/// Of a MatmulOp or LinearOp, else nothing. Its batches are the op's leading axes, whatever the sizes and strides.
/// Errors: Bind when sizes do not fit.
std::optional<GemmProblem> plainProblemOf(const Expr& expr, std::span<const OperandDesc> operands);

/// The same for libraries: batches that are rows of one matrix are made so; a result that is dense along its columns
/// becomes the transposed product.
std::optional<GemmProblem> gemmProblemOf(const Expr& expr, std::span<const OperandDesc> operands);

/// The same product with rows and columns exchanged: transposed(c) = transposed(b) * transposed(a).
GemmProblem transposed(GemmProblem problem);

}  // namespace tokamak
