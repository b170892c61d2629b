// Layer and root-mean-square normalisation over the trailing axes.
#pragma once

#include "base/export.h"
#include "define/channel_norm.h"
#include "ir/tensor_view.h"

namespace tokamak {

struct NormOptions {
  double eps = 1e-5;      ///< added to the variance or mean square
  int64_t norm_axes = 1;  ///< how many trailing axes are normalised together
};

/// (x - mean) / sqrt(variance + eps), variance with correction 0, then * weight + bias where given (of the trailing
/// axes' shape). Half types give f32. Errors: Definition when `in` has fewer axes than are normalised.
TOKAMAK_EXPORT TensorView* layer_norm(TensorView* in, TensorView* weight = nullptr, TensorView* bias = nullptr,
                                      NormOptions options = {});
/// x / sqrt(mean(x^2) + eps), then * weight where given. Half types give f32.
TOKAMAK_EXPORT TensorView* rms_norm(TensorView* in, TensorView* weight = nullptr, NormOptions options = {});

/// Gradients of x, weight and bias, given that of the result and the statistics of the forward function: mean and
/// rstd = 1 / sqrt(variance + eps), of the leading axes' shape or with broadcast axes for the others. They have the
/// types of x and the weight; without a weight there is that of x only.
TOKAMAK_EXPORT NormGradients layer_norm_backward(TensorView* grad, TensorView* in, TensorView* mean, TensorView* rstd,
                                                 TensorView* weight = nullptr, NormOptions options = {});
/// The same of rms_norm, whose rstd is 1 / sqrt(mean(x^2) + eps) and which has no bias.
TOKAMAK_EXPORT NormGradients rms_norm_backward(TensorView* grad, TensorView* in, TensorView* rstd,
                                               TensorView* weight = nullptr, NormOptions options = {});

}  // namespace tokamak
