// Cross entropy of logits and class numbers.
#pragma once

#include "base/export.h"
#include "ir/describe.h"
#include "ir/tensor_view.h"

namespace tokamak {

/// Each: one loss per target, what PyTorch calls "none" (a word that leaves an argument out in texts).
enum class LossReduction : uint8_t { Mean, Sum, Each };
template <>
struct EnumNames<LossReduction> {
  static constexpr std::string_view names[] = {"mean", "sum", "each"};
};

struct CrossEntropyOptions {
  LossReduction reduction = LossReduction::Mean;
  int64_t ignore_index = -100;  ///< targets of this number count for nothing
};

/// log(sum(exp(logits))) - logits[target] per target. The classes are axis 1 of `logits` (axis 0 of one of rank 1);
/// `target` (i32 or i64) has the other axes. The mean is that of the targets that are not ignored. Half types are
/// computed in f32; the result has the type of `logits`. Errors: Definition.
TOKAMAK_EXPORT TensorView* cross_entropy(TensorView* logits, TensorView* target, CrossEntropyOptions options = {});

/// The gradient of `logits`, of their type. `grad` is that of the loss and has its shape; `log_sum_exp` is that of the
/// logits along the classes (define/softmax.h).
TOKAMAK_EXPORT TensorView* cross_entropy_backward(TensorView* grad, TensorView* logits, TensorView* target,
                                                  TensorView* log_sum_exp, CrossEntropyOptions options = {});

}  // namespace tokamak
