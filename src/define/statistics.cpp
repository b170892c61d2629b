#include "define/statistics.h"

#include "define/functions.h"
#include "define/operand.h"
#include "define/structured.h"
#include "ir/fusion.h"

namespace tokamak {

namespace {

TensorView* meanOver(TensorView* value, const std::vector<int64_t>& axes) {
  Scalar* count = castTo(countAlong(*value, axes), value->dtype());
  return div(axes.empty() ? value : sum(value, axes, {.keepdim = true}), count);
}

}  // namespace

Scalar* countAlong(const TensorView& in, const std::vector<int64_t>& axes) {
  Scalar* count = in.fusion().constant(1);
  const Axes shape = shapeOf(in);
  for (const int64_t axis : axes) count = in.fusion().mul(count, shape[static_cast<size_t>(axis)]->visibleExtent());
  return count;
}

TensorView* mean(TensorView* in, const std::vector<int64_t>& axes, MeanOptions options) {
  requireGiven("mean", {{"in", in}});
  const std::vector<int64_t> reduced = reducedAxes("mean", *in, axes);
  TensorView* value = toFloating(in);
  Scalar* count = castTo(countAlong(*value, reduced), value->dtype());
  return div(reduced.empty() ? value : sum(value, reduced, {.keepdim = options.keepdim}), count);
}

VarMean var_mean(TensorView* in, const std::vector<int64_t>& axes, VarOptions options) {
  requireGiven("var_mean", {{"in", in}});
  const std::vector<int64_t> reduced = reducedAxes("var", *in, axes);
  TensorView* value = toFloating(in);
  TensorView* center = meanOver(value, reduced);
  TensorView* difference = sub(value, center);
  TensorView* squares = mul(difference, difference);
  TensorView* total = reduced.empty() ? squares : sum(squares, reduced, {.keepdim = options.keepdim});
  Scalar* count = castTo(countAlong(*value, reduced), value->dtype());
  Scalar* divisor = maximum(sub(count, options.correction), 0.0);
  return {div(total, divisor), options.keepdim || reduced.empty() ? center : squeeze(center, reduced)};
}

TensorView* var(TensorView* in, const std::vector<int64_t>& axes, VarOptions options) {
  requireGiven("var", {{"in", in}});
  return var_mean(in, axes, options).var;
}

Welford welford(TensorView* in, const std::vector<int64_t>& axes, MeanOptions options) {
  requireGiven("welford", {{"in", in}});
  const std::vector<int64_t> reduced = reducedAxes("welford", *in, axes);
  TensorView* value = toFloating(in);
  TensorView* center = meanOver(value, reduced);
  TensorView* difference = sub(value, center);
  TensorView* squares = mul(difference, difference);
  TensorView* total = reduced.empty() ? squares : sum(squares, reduced, {.keepdim = options.keepdim});
  std::vector<Scalar*> shape;
  for (const IterDomain* axis : shapeOf(*total)) shape.push_back(axis->visibleExtent());
  TensorView* count = full(in->fusion(), shape, countAlong(*value, reduced), DataType::I64);
  return {options.keepdim || reduced.empty() ? center : squeeze(center, reduced), total, count};
}

}  // namespace tokamak
