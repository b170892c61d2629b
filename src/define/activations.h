// Activations that are not rows of the function table.
#pragma once

#include "base/export.h"
#include "ir/tensor_view.h"

namespace tokamak {

/// x * (1 + erf(x / sqrt(2))) / 2. Half types and integers give f32.
TOKAMAK_EXPORT TensorView* gelu(TensorView* in);
/// x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2, the usual approximation of gelu.
TOKAMAK_EXPORT TensorView* gelu_tanh(TensorView* in);
/// x where x > 0, else slope * x.
TOKAMAK_EXPORT TensorView* leaky_relu(TensorView* in, double slope = 0.01);
/// log(1 + exp(beta x)) / beta, and x itself where beta x > threshold.
TOKAMAK_EXPORT TensorView* softplus(TensorView* in, double beta = 1, double threshold = 20);

/// Gradients: of x, given that of the result. They have the type of x (f32 for integers).
TOKAMAK_EXPORT TensorView* gelu_backward(TensorView* grad, TensorView* in);
TOKAMAK_EXPORT TensorView* gelu_tanh_backward(TensorView* grad, TensorView* in);
TOKAMAK_EXPORT TensorView* silu_backward(TensorView* grad, TensorView* in);

}  // namespace tokamak
