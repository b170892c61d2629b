// Rfactor: a reduction done in two steps.
#pragma once

#include <vector>

#include "base/export.h"
#include "ir/tensor_view.h"

namespace tokamak {

/// T is the result of a reduction, some of whose reduction axes were split (and merged) in its loops. The new tensor
/// reduces the loop axes named here and keeps the others that it needs for them as axes of its shape; T reduces what is
/// left, from the new tensor. The steps that made the named axes become the new tensor's own (root -> logical); all
/// other steps, the order of loops and marks stay on both.
///
///   T1: f32[i0, i2]      T2 = sum(T1, axes=[1]); split(T2, axis=1, factor=4); T3 = rfactor(T2, axes=[1])
///   T3: root [i0, r{i2}], logical [i0, r{ceilDiv(i2, 4)}rf, i{4}rf]        T2: [i0, r{4}]
///
/// At least one reduction loop axis is left. Errors: Schedule.
TOKAMAK_EXPORT TensorView* rfactor(TensorView* tensor, const std::vector<int64_t>& axes);

}  // namespace tokamak
