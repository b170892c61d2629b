// Reduced axes: the reduction that an element rule ends with, and which axes of operands it runs along.
#pragma once

#include <optional>

#include "compute/element.h"

namespace tokamak {

/// The reduction that the rule's value is, apart from casts of it; null if it is none.
const Element* reductionOf(const ElementRule& rule);

/// Which axis of the reduction the operand's axis (of its visible shape) is, wherever the operand is read in it;
/// nothing if it is none, or not the same one everywhere.
std::optional<size_t> reducedAxis(const Element& reduction, const TensorView& operand, int64_t axis);

}  // namespace tokamak
