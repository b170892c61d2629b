// Softmax and its logarithm.
#pragma once

#include "ir/tensor_view.h"

namespace tokamak {

/// exp(x - max) / sum(exp(x - max)) along `axis`. Half types and integers give f32.
TensorView* softmax(TensorView* in, int64_t axis = -1);
/// (x - max) - log(sum(exp(x - max))) along `axis`. Half types and integers give f32.
TensorView* log_softmax(TensorView* in, int64_t axis = -1);

}  // namespace tokamak
