#include "define/activations.h"

#include <numbers>

#include "define/functions.h"
#include "define/operand.h"

namespace tokamak {

TensorView* gelu(TensorView* in) {
  requireGiven("gelu", {{"in", in}});
  TensorView* x = toFloating(in);
  TensorView* half = mul(x, 0.5);
  return mul(half, add(erf(mul(x, std::numbers::sqrt2 / 2)), 1.0));
}

TensorView* gelu_tanh(TensorView* in) {
  requireGiven("gelu_tanh", {{"in", in}});
  TensorView* x = toFloating(in);
  TensorView* cube = mul(mul(x, x), x);
  TensorView* inner = mul(add(x, mul(cube, 0.044715)), std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
  return mul(mul(x, 0.5), add(tanh(inner), 1.0));
}

TensorView* gelu_backward(TensorView* grad, TensorView* in) {
  requireGiven("gelu_backward", {{"grad", grad}, {"in", in}});
  TensorView* x = toFloating(in);
  TensorView* share = mul(add(erf(mul(x, std::numbers::sqrt2 / 2)), 1.0), 0.5);
  TensorView* density = mul(exp(mul(mul(x, x), -0.5)), std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  return toTypeOf(*in, mul(toFloating(grad), add(share, mul(x, density))));
}

TensorView* gelu_tanh_backward(TensorView* grad, TensorView* in) {
  requireGiven("gelu_tanh_backward", {{"grad", grad}, {"in", in}});
  constexpr double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  TensorView* x = toFloating(in);
  TensorView* square = mul(x, x);
  TensorView* bend = tanh(mul(mul(x, scale), add(mul(square, 0.044715), 1.0)));
  TensorView* slope = add(mul(square, 3 * 0.044715 * scale), scale);
  TensorView* inner = mul(mul(x, 0.5), mul(sub(1.0, mul(bend, bend)), slope));
  return toTypeOf(*in, mul(toFloating(grad), add(inner, mul(add(bend, 1.0), 0.5))));
}

TensorView* silu_backward(TensorView* grad, TensorView* in) {
  requireGiven("silu_backward", {{"grad", grad}, {"in", in}});
  TensorView* x = toFloating(in);
  TensorView* share = sigmoid(x);
  TensorView* slope = mul(share, add(mul(x, sub(1.0, share)), 1.0));
  return toTypeOf(*in, mul(toFloating(grad), slope));
}

TensorView* leaky_relu(TensorView* in, double slope) {
  requireGiven("leaky_relu", {{"in", in}});
  TensorView* x = toFloating(in);
  return where(gt(x, 0.0), x, mul(x, slope));
}

TensorView* softplus(TensorView* in, double beta, double threshold) {
  requireGiven("softplus", {{"in", in}});
  TensorView* x = toFloating(in);
  TensorView* scaled = mul(x, beta);
  return where(gt(scaled, threshold), x, div(log1p(exp(scaled)), beta));
}

}  // namespace tokamak
