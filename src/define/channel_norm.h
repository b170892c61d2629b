// Batch and group normalisation: statistics per channel of a batch, and per group of channels.
//
// Half types are computed in f32. Results and gradients have the type of the operand that they belong to, as in
// PyTorch; statistics are f32 (f64 for f64).
//
// Statistics of f32 and half types are made in one pass, from differences to a number: the mean of four of the
// elements, or 0 if that is no farther from them than they are from one another (or they are not finite). With k
// standard deviations between this number and the mean, the variance is off by up to 1e-6 (1 + k^2) of itself and the
// mean by up to 1e-6 (1 + k) deviations, for sums of up to 100,000 elements; with a million by five times as much. k is
// less than 2 as a rule. It is sqrt(n / 4) where the four are far from all of the n others, but no more, since they
// count in the variance, too: 1e-6 (1 + n / 4) is the worst there is. How large the mean is does not matter, and equal
// elements have no variance. Statistics of f64 take two passes.
#pragma once

#include <optional>

#include "base/export.h"
#include "ir/tensor_view.h"

namespace tokamak {

struct BatchNormOptions {
  double eps = 1e-5;
  double momentum = 0.1;  ///< how much of the running statistics the batch's replace
  int64_t axis = 1;       ///< the channels': 1, or -1 where they are last
};

/// What training needs of a batch; the running statistics are null unless they were given.
struct BatchNorm {
  TensorView* out;
  TensorView* mean;          ///< per channel
  TensorView* rstd;          ///< 1 / sqrt(variance + eps), variance with correction 0
  TensorView* running_mean;  ///< updated
  TensorView* running_var;   ///< updated, from the variance with correction 1
};
/// (x - mean) * rstd * weight + bias with the batch's own statistics over all axes but the channels'. weight, bias and
/// the running statistics have one element per channel; any may be null, the running ones together. Errors: Definition.
TOKAMAK_EXPORT BatchNorm batch_norm(TensorView* in, TensorView* weight = nullptr, TensorView* bias = nullptr,
                                    TensorView* running_mean = nullptr, TensorView* running_var = nullptr,
                                    BatchNormOptions options = {});
/// The same with given statistics.
TOKAMAK_EXPORT TensorView* batch_norm_inference(TensorView* in, TensorView* mean, TensorView* var,
                                                TensorView* weight = nullptr, TensorView* bias = nullptr,
                                                BatchNormOptions options = {});

/// Null where the forward function had no such operand.
struct NormGradients {
  TensorView* in;
  TensorView* weight;
  TensorView* bias;
};
/// Of batch_norm with the batch's own statistics, given those and the gradient of its result.
TOKAMAK_EXPORT NormGradients batch_norm_backward(TensorView* grad, TensorView* in, TensorView* mean, TensorView* rstd,
                                                 TensorView* weight = nullptr, BatchNormOptions options = {});

/// Each of `groups` equal parts of the channels (axis 1) of each element of the batch (axis 0), with all further axes,
/// has its own mean and variance; then * weight + bias per channel. Errors: Definition.
TOKAMAK_EXPORT TensorView* group_norm(TensorView* in, int64_t groups, TensorView* weight = nullptr,
                                      TensorView* bias = nullptr, double eps = 1e-5);

}  // namespace tokamak
