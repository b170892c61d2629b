#include "define/channel_norm.h"

#include "base/require.h"
#include "define/functions.h"
#include "define/operand.h"
#include "define/statistics.h"
#include "define/structured.h"
#include "ir/fusion.h"
#include "ir/shape_rule.h"

namespace tokamak {

namespace {

/// The channels of a tensor: tensors of one element per channel are brought beside it, its other axes are reduced.
class Channels {
 public:
  Channels(std::string_view op, const TensorView& in, int64_t axis)
      : op_(op), in_(in), axis_(ShapeRule(in.fusion(), op).normalAxis(axis, in)) {
    for (int64_t i = 0; i < rank(); ++i) {
      if (i != axis_) others_.push_back(i);
    }
    TK_REQUIRE(!others_.empty(), Definition, "{}: {} has channels only; there is nothing to take statistics over", op,
               toString(in));
  }

  const std::vector<int64_t>& others() const { return others_; }
  int64_t rank() const { return static_cast<int64_t>(shapeOf(in_).size()); }

  TensorView* beside(TensorView* per_channel) const {
    TK_REQUIRE(shapeOf(*per_channel).size() == 1, Definition, "{}: {} must have one element per channel of {}", op_,
               toString(*per_channel), toString(in_));
    return broadcast(toFloating(per_channel), flagsOf());
  }
  TensorView* perChannel(TensorView* kept) const { return squeeze(kept, others_); }
  /// value * weight + bias
  TensorView* affine(TensorView* value, TensorView* weight, TensorView* bias) const {
    if (weight != nullptr) value = mul(value, beside(weight));
    return bias == nullptr ? value : add(value, beside(bias));
  }

 private:
  std::vector<bool> flagsOf() const {
    std::vector<bool> flags(static_cast<size_t>(rank()), true);
    flags[static_cast<size_t>(axis_)] = false;
    return flags;
  }

  std::string_view op_;
  const TensorView& in_;
  int64_t axis_;
  std::vector<int64_t> others_;
};

// running + momentum * (fresh - running), in the running statistic's type
TensorView* moved(TensorView* running, TensorView* fresh, double momentum) {
  TensorView* kept = mul(toFloating(running), 1 - momentum);
  return toTypeOf(*running, add(kept, mul(fresh, momentum)));
}

struct Moments {
  TensorView* mean;
  TensorView* squares;  ///< the sum of the squared differences from the mean
};

// The element that lies at `part` of `parts` of each of `axes`, which stay as axes of size 1; 0 where there is none.
TensorView* elementAt(TensorView* value, int64_t part, int64_t parts, const std::vector<int64_t>& axes) {
  Fusion& fusion = value->fusion();
  std::vector<bool> flags(shapeOf(*value).size(), false);
  for (size_t i = axes.size(); i-- > 0;) {
    const auto axis = static_cast<size_t>(axes[i]);
    Scalar* extent = shapeOf(*value)[axis]->visibleExtent();
    Scalar* first = fusion.floorDiv(fusion.mul(extent, fusion.constant(part)), fusion.constant(parts));
    // All but this one is cut; an axis of no elements gets one.
    std::vector<Scalar*> widths(2 * shapeOf(*value).size(), fusion.constant(0));
    widths[2 * axis] = fusion.sub(fusion.constant(0), first);
    widths[2 * axis + 1] = fusion.sub(fusion.add(first, fusion.constant(1)), extent);
    value = select(pad(value, widths), axes[i], 0);
    flags[axis] = true;
  }
  return broadcast(value, flags);
}

// A number near the mean along `axes`, if that is far from 0: the mean of four elements, unless one of them is as far
// from it as it is from 0; then, and where they are not finite, 0.
TensorView* numberAmong(TensorView* value, const std::vector<int64_t>& axes) {
  constexpr int64_t kSamples = 4;
  std::vector<TensorView*> samples;
  for (int64_t i = 0; i < kSamples; ++i) samples.push_back(elementAt(value, i, kSamples, axes));
  TensorView* center = mul(add(add(samples[0], samples[1]), add(samples[2], samples[3])), 1.0 / kSamples);
  const auto distance = [&](int64_t i) { return abs(sub(samples[static_cast<size_t>(i)], center)); };
  TensorView* spread = maximum(maximum(distance(0), distance(1)), maximum(distance(2), distance(3)));
  return where(gt(abs(center), spread), center, 0.0);
}

// Both in one pass over the data, which are large and far apart for a channel, as sums of differences from a number
// near the mean (channel_norm.h says what that costs). Of f64 values in two passes.
Moments momentsOf(TensorView* value, Scalar* count, const std::vector<int64_t>& axes) {
  const auto total = [&](TensorView* of) { return sum(of, axes, {.keepdim = true}); };
  if (value->dtype() == DataType::F64) {
    TensorView* center = mean(value, axes, {.keepdim = true});
    TensorView* difference = sub(value, center);
    return {center, total(mul(difference, difference))};
  }
  TensorView* shift = numberAmong(value, axes);
  TensorView* difference = sub(value, shift);
  TensorView* first = total(difference);
  TensorView* rest = div(first, count);
  TensorView* squares = sub(total(mul(difference, difference)), mul(first, rest));
  return {add(shift, rest), maximum(squares, 0.0)};
}

}  // namespace

BatchNorm batch_norm(TensorView* in, TensorView* weight, TensorView* bias, TensorView* running_mean,
                     TensorView* running_var, BatchNormOptions options) {
  requireGiven("batch_norm", {{"in", in}});
  const Channels channels("batch_norm", *in, options.axis);
  TK_REQUIRE((running_mean == nullptr) == (running_var == nullptr), Definition,
             "batch_norm: one of the running statistics of {} is missing; give both or none", toString(*in));
  TensorView* value = toFloating(in);
  Scalar* count = castTo(countAlong(*value, channels.others()), value->dtype());
  const Moments moments = momentsOf(value, count, channels.others());
  TensorView* center = moments.mean;
  TensorView* squares = moments.squares;
  TensorView* difference = sub(value, center);
  TensorView* rstd = rsqrt(add(div(squares, count), options.eps));
  BatchNorm result{};
  result.out = toTypeOf(*in, channels.affine(mul(difference, rstd), weight, bias));
  result.mean = channels.perChannel(center);
  result.rstd = channels.perChannel(rstd);
  if (running_mean != nullptr) {
    TensorView* variance = div(channels.perChannel(squares), maximum(sub(count, 1.0), 0.0));
    result.running_mean = moved(running_mean, result.mean, options.momentum);
    result.running_var = moved(running_var, variance, options.momentum);
  }
  return result;
}

TensorView* batch_norm_inference(TensorView* in, TensorView* mean, TensorView* var, TensorView* weight,
                                 TensorView* bias, BatchNormOptions options) {
  requireGiven("batch_norm_inference", {{"in", in}, {"mean", mean}, {"var", var}});
  const Channels channels("batch_norm_inference", *in, options.axis);
  TensorView* difference = sub(toFloating(in), channels.beside(mean));
  TensorView* out = mul(difference, rsqrt(add(channels.beside(var), options.eps)));
  return toTypeOf(*in, channels.affine(out, weight, bias));
}

NormGradients batch_norm_backward(TensorView* grad, TensorView* in, TensorView* mean, TensorView* rstd,
                                  TensorView* weight, BatchNormOptions options) {
  requireGiven("batch_norm_backward", {{"grad", grad}, {"in", in}, {"mean", mean}, {"rstd", rstd}});
  const Channels channels("batch_norm_backward", *in, options.axis);
  TensorView* slope = toFloating(grad);
  TensorView* scale = channels.beside(rstd);
  TensorView* normal = mul(sub(toFloating(in), channels.beside(mean)), scale);
  TensorView* total = sum(slope, channels.others(), {.keepdim = true});
  TensorView* product = sum(mul(slope, normal), channels.others(), {.keepdim = true});
  Scalar* count = castTo(countAlong(*slope, channels.others()), slope->dtype());
  TensorView* rest = sub(sub(slope, div(total, count)), mul(normal, div(product, count)));
  TensorView* factor = weight == nullptr ? scale : mul(scale, channels.beside(weight));
  NormGradients gradients{toTypeOf(*in, mul(rest, factor)), nullptr, nullptr};
  if (weight != nullptr) {
    gradients.weight = toTypeOf(*weight, channels.perChannel(product));
    gradients.bias = toTypeOf(*weight, channels.perChannel(total));
  }
  return gradients;
}

TensorView* group_norm(TensorView* in, int64_t groups, TensorView* weight, TensorView* bias, double eps) {
  requireGiven("group_norm", {{"in", in}});
  const Axes shape = shapeOf(*in);
  TK_REQUIRE(shape.size() >= 2, Definition, "group_norm: {} needs a batch and a channel axis", toString(*in));
  Fusion& fusion = in->fusion();
  Scalar* count = shape[1]->visibleExtent();
  const auto known = count->constantInt();
  TK_REQUIRE(groups > 0 && (!known || *known % groups == 0), Definition,
             "group_norm: the {} channels of {} are not {} groups of one size", toString(*count), toString(*in),
             groups);
  std::vector<Scalar*> sizes;
  for (const IterDomain* axis : shape) sizes.push_back(axis->visibleExtent());
  std::vector<Scalar*> grouped = sizes;
  grouped[1] = fusion.floorDiv(count, fusion.constant(groups));
  grouped.insert(grouped.begin() + 1, fusion.constant(groups));
  TensorView* value = reshape(toFloating(in), grouped);
  std::vector<int64_t> axes;
  for (size_t i = 2; i < grouped.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  Scalar* elements = castTo(countAlong(*value, axes), value->dtype());
  const Moments moments = momentsOf(value, elements, axes);
  TensorView* rstd = rsqrt(add(div(moments.squares, elements), eps));
  TensorView* out = reshape(mul(sub(value, moments.mean), rstd), sizes);
  return toTypeOf(*in, Channels("group_norm", *in, 1).affine(out, weight, bias));
}

}  // namespace tokamak
