#include "define/normalization.h"

#include "base/error.h"
#include "define/functions.h"
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

}  // namespace

TensorView* layer_norm(TensorView* in, TensorView* weight, TensorView* bias, NormOptions options) {
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
  const std::vector<int64_t> axes = trailingAxes("rms_norm", *in, options.norm_axes);
  TensorView* value = toFloating(in);
  TensorView* square = mean(mul(value, value), axes, {.keepdim = true});
  TensorView* out = mul(value, rsqrt(add(square, options.eps)));
  return weight == nullptr ? out : mul(out, affineOperand("rms_norm", weight, options.norm_axes));
}

}  // namespace tokamak
