#include "define/normalization.h"

#include "base/require.h"
#include "define/functions.h"
#include "define/operand.h"
#include "define/reductions.h"
#include "define/shapes.h"
#include "define/statistics.h"

namespace tokamak {

namespace {

std::vector<int64_t> trailingAxes(std::string_view op, const TensorView& in, int64_t count) {
  const auto rank = static_cast<int64_t>(shapeOf(in).size());
  TK_REQUIRE(count >= 1 && count <= rank, Definition,
             "{}: {} trailing axes of {}; it has {} axes, at least one is normalised", op, count, toString(in), rank);
  std::vector<int64_t> axes;
  for (int64_t axis = rank - count; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

// A weight of other rank would broadcast over the wrong axes without a word.
TensorView* affineOperand(std::string_view op, TensorView* operand, int64_t norm_axes) {
  TK_REQUIRE(static_cast<int64_t>(shapeOf(*operand).size()) == norm_axes, Definition,
             "{}: {} must have one axis per normalised axis, that is {}", op, toString(*operand), norm_axes);
  return toComputeType(operand);
}

// One value per row that is normalised, with broadcast axes along it.
TensorView* statistic(std::string_view op, TensorView* value, const TensorView& in, const std::vector<int64_t>& axes) {
  const size_t rank = shapeOf(in).size();
  const size_t own = shapeOf(*value).size();
  TK_REQUIRE(own == rank || own + axes.size() == rank, Definition,
             "{}: the statistic {} must have one value for each of the {} trailing axes' parts of {}", op,
             toString(*value), axes.size(), toString(in));
  return toFloating(own == rank ? value : keepAxes(value, axes));
}

// Over all axes that are not normalised; the weight's gradient.
TensorView* sumOfRows(TensorView* value, const std::vector<int64_t>& axes) {
  std::vector<int64_t> leading;
  for (int64_t axis = 0; axis < axes.front(); ++axis) leading.push_back(axis);
  // A result is never the operand itself.
  return leading.empty() ? cast(value, value->dtype()) : sum(value, leading);
}

}  // namespace

TensorView* layer_norm(TensorView* in, TensorView* weight, TensorView* bias, NormOptions options) {
  requireGiven("layer_norm", {{"in", in}});
  const std::vector<int64_t> axes = trailingAxes("layer_norm", *in, options.norm_axes);
  TensorView* value = toFloating(in);
  TensorView* center = mean(value, axes, {.keepdim = true});
  TensorView* difference = sub(value, center);
  TensorView* variance = mean(mul(difference, difference), axes, {.keepdim = true});
  TensorView* out = mul(difference, rsqrt(add(variance, options.eps)));
  if (weight != nullptr) out = mul(out, affineOperand("layer_norm", weight, options.norm_axes));
  if (bias != nullptr) out = add(out, affineOperand("layer_norm", bias, options.norm_axes));
  return out;
}

TensorView* rms_norm(TensorView* in, TensorView* weight, NormOptions options) {
  requireGiven("rms_norm", {{"in", in}});
  const std::vector<int64_t> axes = trailingAxes("rms_norm", *in, options.norm_axes);
  TensorView* value = toFloating(in);
  TensorView* square = mean(mul(value, value), axes, {.keepdim = true});
  TensorView* out = mul(value, rsqrt(add(square, options.eps)));
  return weight == nullptr ? out : mul(out, affineOperand("rms_norm", weight, options.norm_axes));
}

NormGradients layer_norm_backward(TensorView* grad, TensorView* in, TensorView* mean_of, TensorView* rstd,
                                  TensorView* weight, NormOptions options) {
  constexpr std::string_view op = "layer_norm_backward";
  requireGiven(op, {{"grad", grad}, {"in", in}, {"mean", mean_of}, {"rstd", rstd}});
  const std::vector<int64_t> axes = trailingAxes(op, *in, options.norm_axes);
  TensorView* slope = toFloating(grad);
  TensorView* scale = statistic(op, rstd, *in, axes);
  TensorView* normal = mul(sub(toFloating(in), statistic(op, mean_of, *in, axes)), scale);
  TensorView* inner = weight == nullptr ? slope : mul(slope, affineOperand(op, weight, options.norm_axes));
  TensorView* level = mean(inner, axes, {.keepdim = true});
  TensorView* tilt = mean(mul(inner, normal), axes, {.keepdim = true});
  NormGradients gradients{toTypeOf(*in, mul(sub(sub(inner, level), mul(normal, tilt)), scale)), nullptr, nullptr};
  if (weight != nullptr) {
    gradients.weight = toTypeOf(*weight, sumOfRows(mul(slope, normal), axes));
    gradients.bias = toTypeOf(*weight, sumOfRows(slope, axes));
  }
  return gradients;
}

NormGradients rms_norm_backward(TensorView* grad, TensorView* in, TensorView* rstd, TensorView* weight,
                                NormOptions options) {
  requireGiven("rms_norm_backward", {{"grad", grad}, {"in", in}, {"rstd", rstd}});
  constexpr std::string_view op = "rms_norm_backward";
  const std::vector<int64_t> axes = trailingAxes(op, *in, options.norm_axes);
  TensorView* slope = toFloating(grad);
  TensorView* scale = statistic(op, rstd, *in, axes);
  TensorView* normal = mul(toFloating(in), scale);
  TensorView* inner = weight == nullptr ? slope : mul(slope, affineOperand(op, weight, options.norm_axes));
  TensorView* tilt = mean(mul(inner, normal), axes, {.keepdim = true});
  NormGradients gradients{toTypeOf(*in, mul(sub(inner, mul(normal, tilt)), scale)), nullptr, nullptr};
  if (weight != nullptr) gradients.weight = toTypeOf(*weight, sumOfRows(mul(slope, normal), axes));
  return gradients;
}

}  // namespace tokamak
