// Which ops compute each element from those at the same place.
#pragma once

#include "ir/expr.h"
#include "ir/ops/math/cast_op.h"
#include "ir/ops/math/load_store_op.h"
#include "ir/ops/math/pointwise_op.h"

namespace tokamak {

/// A function, a cast or a copy: element i of the results is computed from element i of the operands, which repeat
/// along broadcast axes.
inline bool isElementwise(const Expr& expr) {
  return expr.is<PointwiseOp>() || expr.is<CastOp>() || expr.is<LoadStoreOp>();
}

}  // namespace tokamak
