#include "analysis/op_counts.h"

#include <vector>

#include "analysis/bind_shape.h"
#include "base/error.h"
#include "ir/ops/math/linear_op.h"
#include "ir/ops/math/matmul_op.h"
#include "ir/ops/math/pointwise_op.h"
#include "ir/ops/math/reduction_op.h"

namespace tokamak {

namespace {

double elementsOf(const TensorView& tensor, const ScalarBindings& sizes) {
  double elements = 1;
  for (const int64_t size : sizesOf(tensor, sizes)) elements *= static_cast<double>(size);
  return elements;
}

double lastSizeOf(const TensorView& tensor, const ScalarBindings& sizes) {
  const std::vector<int64_t> all = sizesOf(tensor, sizes);
  return all.empty() ? 1 : static_cast<double>(all.back());
}

}  // namespace

double arithmeticOf(const Expr& expr, const ScalarBindings& sizes) {
  if (const auto* function = expr.as<PointwiseOp>()) return elementsOf(*function->out, sizes);
  if (const auto* reduction = expr.as<ReductionOp>()) return elementsOf(*reduction->in, sizes);
  if (const auto* product = expr.as<MatmulOp>())
    return 2 * elementsOf(*product->out, sizes) * lastSizeOf(*product->a, sizes);
  if (const auto* product = expr.as<LinearOp>()) {
    const double sums = product->bias == nullptr ? 0 : elementsOf(*product->out, sizes);
    return 2 * elementsOf(*product->out, sizes) * lastSizeOf(*product->in, sizes) + sums;
  }
  return 0;
}

std::optional<double> arithmeticOf(const Fusion& fusion, const ScalarBindings& sizes) {
  try {
    double sum = 0;
    for (const Expr* expr : fusion.exprs()) sum += arithmeticOf(*expr, sizes);
    return sum;
  } catch (const Error&) {
    return std::nullopt;  // an extent that only a call knows
  }
}

}  // namespace tokamak
