#include "define/cross_entropy.h"

#include "base/require.h"
#include "define/functions.h"
#include "define/operand.h"
#include "define/softmax.h"
#include "define/structured.h"
#include "ir/fusion.h"

namespace tokamak {

namespace {

int64_t classAxis(std::string_view op, const TensorView& logits, const TensorView& target) {
  const size_t rank = shapeOf(logits).size();
  TK_REQUIRE(rank >= 1 && shapeOf(target).size() + 1 == rank, Definition,
             "{}: the targets {} must have the axes of {} but that of the classes", op, toString(target),
             toString(logits));
  TK_REQUIRE(isIntegerType(target.dtype()), Definition, "{}: targets are numbers of classes, i32 or i64; {} are not",
             op, toString(target));
  TK_REQUIRE(isFloatingType(logits.dtype()), Definition, "{}: {} are no logits; they have a floating type", op,
             toString(logits));
  return rank == 1 ? 0 : 1;
}

// The number of targets that count, in the type of the loss.
TensorView* countOf(TensorView* counts, DataType type) { return sum(cast(counts, type)); }

}  // namespace

TensorView* cross_entropy(TensorView* logits, TensorView* target, CrossEntropyOptions options) {
  requireGiven("cross_entropy", {{"logits", logits}, {"target", target}});
  const int64_t axis = classAxis("cross_entropy", *logits, *target);
  TensorView* value = toFloating(logits);
  TensorView* at_target = squeeze(take_along_axis(value, unsqueeze(target, axis), axis), {axis});
  TensorView* counts = ne(target, options.ignore_index);
  TensorView* loss = where(counts, sub(log_sum_exp(value, axis), at_target), 0.0);
  if (options.reduction != LossReduction::Each) loss = sum(loss);
  if (options.reduction == LossReduction::Mean) loss = div(loss, countOf(counts, loss->dtype()));
  return toTypeOf(*logits, loss);
}

TensorView* cross_entropy_backward(TensorView* grad, TensorView* logits, TensorView* target, TensorView* log_sum_exp,
                                   CrossEntropyOptions options) {
  requireGiven("cross_entropy_backward",
               {{"grad", grad}, {"logits", logits}, {"target", target}, {"log_sum_exp", log_sum_exp}});
  const int64_t axis = classAxis("cross_entropy_backward", *logits, *target);
  TK_REQUIRE(shapeOf(*log_sum_exp).size() == shapeOf(*target).size(), Definition,
             "cross_entropy_backward: {} must have the shape of the targets {}", toString(*log_sum_exp),
             toString(*target));
  const bool is_per_target = options.reduction == LossReduction::Each;
  TK_REQUIRE(shapeOf(*grad).size() == (is_per_target ? shapeOf(*target).size() : 0), Definition,
             "cross_entropy_backward: the gradient {} has not the shape of the loss", toString(*grad));
  TensorView* value = toFloating(logits);
  TensorView* counts = ne(target, options.ignore_index);
  TensorView* slope = toFloating(grad);
  if (options.reduction == LossReduction::Mean) slope = div(slope, countOf(counts, slope->dtype()));
  TensorView* weight = unsqueeze(where(counts, slope, 0.0), axis);

  const Axes shape = shapeOf(*logits);
  TensorView* classes = iota(logits->fusion(), shape[static_cast<size_t>(axis)]->visibleExtent());
  std::vector<bool> flags(shape.size(), true);
  flags[static_cast<size_t>(axis)] = false;
  if (shape.size() > 1) classes = broadcast(classes, flags);
  TensorView* is_target = eq(classes, unsqueeze(target, axis));
  TensorView* share = exp(sub(value, unsqueeze(toFloating(log_sum_exp), axis)));
  return toTypeOf(*logits, mul(sub(share, toFloating(is_target)), weight));
}

}  // namespace tokamak
