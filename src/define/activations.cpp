#include "define/activations.h"

#include <numbers>

#include "define/functions.h"

namespace tokamak {

TensorView* gelu(TensorView* in) {
  TensorView* x = toFloating(in);
  TensorView* half = mul(x, 0.5);
  return mul(half, add(erf(mul(x, std::numbers::sqrt2 / 2)), 1.0));
}

TensorView* gelu_tanh(TensorView* in) {
  TensorView* x = toFloating(in);
  TensorView* cube = mul(mul(x, x), x);
  TensorView* inner = mul(add(x, mul(cube, 0.044715)), std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
  return mul(mul(x, 0.5), add(tanh(inner), 1.0));
}

TensorView* leaky_relu(TensorView* in, double slope) {
  TensorView* x = toFloating(in);
  return where(gt(x, 0.0), x, mul(x, slope));
}

TensorView* softplus(TensorView* in, double beta, double threshold) {
  TensorView* x = toFloating(in);
  TensorView* scaled = mul(x, beta);
  return where(gt(scaled, threshold), x, div(log1p(exp(scaled)), beta));
}

}  // namespace tokamak
