// Layer and root-mean-square normalisation over the trailing axes.
#pragma once

#include "ir/tensor_view.h"

namespace tokamak {

struct NormOptions {
  double eps = 1e-5;      ///< added to the variance or mean square
  int64_t norm_axes = 1;  ///< how many trailing axes are normalised together
};

/// (x - mean) / sqrt(variance + eps), variance with correction 0, then * weight + bias where given (of the trailing axes'
/// shape). Half types give f32. Errors: Definition when `in` has fewer axes than are normalised.
TensorView* layer_norm(TensorView* in, TensorView* weight = nullptr, TensorView* bias = nullptr,
                       NormOptions options = {});
/// x / sqrt(mean(x^2) + eps), then * weight where given. Half types give f32.
TensorView* rms_norm(TensorView* in, TensorView* weight = nullptr, NormOptions options = {});

}  // namespace tokamak
