// Steps of a schedule done again on other axes, when some of the axes that they start from are exchanged.
#pragma once

#include <map>
#include <vector>

#include "ir/tensor_view.h"

namespace tokamak {

/// Old axes -> those that take their places.
using AxisCopies = std::map<const IterDomain*, IterDomain*>;

/// The axis in this one's place; the same where there is no other.
IterDomain* copyIn(const AxisCopies& copies, IterDomain* axis);

/// The steps from the shape to these axes, each after those that it needs.
std::vector<const DomainExpr*> stepsTo(const std::vector<IterDomain*>& axes, const std::vector<IterDomain*>& shape);

/// Does those of the steps again that start from copied axes, on the copies; what they give is copied then, too.
void redoSteps(const std::vector<const DomainExpr*>& steps, AxisCopies& copies);

/// Marks the copies as the old axes are marked.
void copyMarks(const AxisCopies& copies);

/// Exchanges axes of the tensor's shape, and with them the loops that come from them. (An allocation domain stays as it
/// is.)
void exchangeAxes(TensorView& tensor, AxisCopies copies);

}  // namespace tokamak
