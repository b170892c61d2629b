// Mean and variance.
#pragma once

#include "base/export.h"
#include "define/operand.h"

namespace tokamak {

struct MeanOptions {
  bool keepdim = false;  ///< the reduced axes stay as broadcast axes of size 1
};
/// sum / count over `axes` (negative ones count from the end; none: all). Integers give f32, half types f32.
TOKAMAK_EXPORT TensorView* mean(TensorView* in, const std::vector<int64_t>& axes = {}, MeanOptions options = {});

struct VarOptions {
  double correction = 1;  ///< the divisor is max(count - correction, 0)
  bool keepdim = false;
};
struct VarMean {
  TensorView* var;
  TensorView* mean;
};
/// The mean of the squared differences from the mean, in two passes.
TOKAMAK_EXPORT TensorView* var(TensorView* in, const std::vector<int64_t>& axes = {}, VarOptions options = {});
TOKAMAK_EXPORT VarMean var_mean(TensorView* in, const std::vector<int64_t>& axes = {}, VarOptions options = {});

/// What partial variances are merged from. n is i64 and, like the others, of the shape without the reduced axes.
struct Welford {
  TensorView* mean;
  TensorView* m2;  ///< the sum of the squared differences from the mean
  TensorView* n;   ///< the number of elements
};
TOKAMAK_EXPORT Welford welford(TensorView* in, const std::vector<int64_t>& axes = {}, MeanOptions options = {});

/// The number of elements along `axes` (of the visible shape).
TOKAMAK_EXPORT Scalar* countAlong(const TensorView& in, const std::vector<int64_t>& axes);

}  // namespace tokamak
