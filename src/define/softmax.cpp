#include "define/softmax.h"

#include "define/functions.h"
#include "define/operand.h"
#include "define/structured.h"
#include "ir/shape_rule.h"

namespace tokamak {

namespace {

// Differences to the maximum are at most 0, so that exp neither overflows nor gives all zeros.
TensorView* belowMaximum(TensorView* in, int64_t axis) {
  TensorView* value = toFloating(in);
  return sub(value, max(value, {axis}, {.keepdim = true}));
}

}  // namespace

TensorView* softmax(TensorView* in, int64_t axis) {
  requireGiven("softmax", {{"in", in}});
  const int64_t along = ShapeRule(in->fusion(), "softmax").normalAxis(axis, *in);
  TensorView* powers = exp(belowMaximum(in, along));
  return div(powers, sum(powers, {along}, {.keepdim = true}));
}

TensorView* log_softmax(TensorView* in, int64_t axis) {
  requireGiven("log_softmax", {{"in", in}});
  const int64_t along = ShapeRule(in->fusion(), "log_softmax").normalAxis(axis, *in);
  TensorView* difference = belowMaximum(in, along);
  return sub(difference, log(sum(exp(difference), {along}, {.keepdim = true})));
}

TensorView* log_sum_exp(TensorView* in, int64_t axis) {
  requireGiven("log_sum_exp", {{"in", in}});
  const int64_t along = ShapeRule(in->fusion(), "log_sum_exp").normalAxis(axis, *in);
  TensorView* value = toFloating(in);
  TensorView* top = max(value, {along});
  TensorView* powers = exp(sub(value, unsqueeze(top, along)));
  return add(log(sum(powers, {along})), top);
}

TensorView* softmax_backward(TensorView* grad, TensorView* out, int64_t axis) {
  requireGiven("softmax_backward", {{"grad", grad}, {"out", out}});
  const int64_t along = ShapeRule(out->fusion(), "softmax_backward").normalAxis(axis, *out);
  TensorView* share = toFloating(out);
  TensorView* slope = toFloating(grad);
  TensorView* total = sum(mul(slope, share), {along}, {.keepdim = true});
  return toTypeOf(*out, mul(share, sub(slope, total)));
}

TensorView* log_softmax_backward(TensorView* grad, TensorView* out, int64_t axis) {
  requireGiven("log_softmax_backward", {{"grad", grad}, {"out", out}});
  const int64_t along = ShapeRule(out->fusion(), "log_softmax_backward").normalAxis(axis, *out);
  TensorView* slope = toFloating(grad);
  TensorView* total = sum(slope, {along}, {.keepdim = true});
  return toTypeOf(*out, sub(slope, mul(exp(toFloating(out)), total)));
}

}  // namespace tokamak
