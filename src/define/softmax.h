// Softmax and its logarithm.
#pragma once

#include "base/export.h"
#include "ir/tensor_view.h"

namespace tokamak {

/// exp(x - max) / sum(exp(x - max)) along `axis`. Half types and integers give f32.
TOKAMAK_EXPORT TensorView* softmax(TensorView* in, int64_t axis = -1);
/// (x - max) - log(sum(exp(x - max))) along `axis`. Half types and integers give f32.
TOKAMAK_EXPORT TensorView* log_softmax(TensorView* in, int64_t axis = -1);
/// max + log(sum(exp(x - max))) along `axis`, which is gone. Half types and integers give f32.
TOKAMAK_EXPORT TensorView* log_sum_exp(TensorView* in, int64_t axis = -1);

/// Gradients: of x, given the result and the gradient of the result. They have the type of the result `out`.
TOKAMAK_EXPORT TensorView* softmax_backward(TensorView* grad, TensorView* out, int64_t axis = -1);
TOKAMAK_EXPORT TensorView* log_softmax_backward(TensorView* grad, TensorView* out, int64_t axis = -1);

}  // namespace tokamak
