// Rfactor: a reduction in two steps.
#pragma once

#include <vector>

#include "base/export.h"
#include "ir/tensor_view.h"

namespace tokamak {

/// T is a reduction, whose reduction axes were split (or merged) in its loops. The new tensor reduces the loop axes
/// named here, and keeps the other parts of their reduction axes as axes of its shape; T reduces these.
/// The steps that made the named axes become the new tensor's (root -> logical). Both keep all other steps, the order
/// of loops and the marks.
///
///   T1: f32[i0, i2]      T2 = sum(T1, axes=[1]); split(T2, axis=1, factor=4); T3 = rfactor(T2, axes=[1])
///   T3: root [i0, r{i2}], logical [i0, r{ceilDiv(i2, 4)}rf, i{4}rf]        T2: [i0, r{4}]
///
/// At least one reduction loop axis has to be left. Errors: Schedule.
TOKAMAK_EXPORT TensorView* rfactor(TensorView* tensor, const std::vector<int64_t>& axes);

}  // namespace tokamak
