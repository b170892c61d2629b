// Repeats steps (splits, merges, swizzles) of a schedule on other axes, where some axes are replaced.
#pragma once

#include <map>
#include <vector>

#include "ir/tensor_view.h"

namespace tokamak {

/// Old axis -> replacement.
using AxisCopies = std::map<const IterDomain*, IterDomain*>;

/// The replacement of the axis, or the axis itself.
IterDomain* copyIn(const AxisCopies& copies, IterDomain* axis);

/// The steps from the shape to these axes, in topological order.
std::vector<const DomainExpr*> stepsTo(const std::vector<IterDomain*>& axes, const std::vector<IterDomain*>& shape);

/// Repeats the steps that start from replaced axes, on the replacements; their results become replaced, too.
void redoSteps(const std::vector<const DomainExpr*>& steps, AxisCopies& copies);

/// Gives the replacements the parallel types of the old axes.
void copyMarks(const AxisCopies& copies);

/// Replaces axes of the tensor's shape, and loops made from them. (The allocation domain does not change.)
void exchangeAxes(TensorView& tensor, AxisCopies copies);

}  // namespace tokamak
