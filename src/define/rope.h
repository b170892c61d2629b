// Rotary position embedding.
#pragma once

#include "base/export.h"
#include "ir/tensor_view.h"

namespace tokamak {

/// x * cos + (-b, a) * sin where (a, b) are the halves of x along its last axis, whose size is even; cos and sin
/// broadcast to the shape of x. Half types are computed in f32; the result has the type of x. Errors: Definition.
TOKAMAK_EXPORT TensorView* rope(TensorView* in, TensorView* cos, TensorView* sin);
/// The gradient of x, given that of the result, of the latter's type.
TOKAMAK_EXPORT TensorView* rope_backward(TensorView* grad, TensorView* cos, TensorView* sin);

}  // namespace tokamak
