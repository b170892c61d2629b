// Split outputs: a kernel that gives an output as a tensor of more axes, where it goes over these axes.
//
//   T2 = f(reshape(x - sum(x, axis of p), shape=[b, g * p]))        x: [b, g, p]
//
// The sum is read at [b, c / p]: its row (b, g) is a part of T2's axis c. With f(x - sum(..)), what was reshaped and what follows element by element in
// the axes [b, g, p], as the output the rows are whole axes. An axis that is split is a view of any memory: the outer part has the inner one's extent
// times its stride.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/device.h"
#include "ir/fusion.h"

namespace tokamak {

/// How many axes each axis (of the visible shape) of an output became.
using OutputParts = std::vector<size_t>;

/// Gives outputs in more axes if the program is a kernel with rows only then; it has no schedule. Per output what became of its axes; empty where
/// nothing was changed.
std::vector<OutputParts> splitOutputs(Fusion& program);

/// The operands of the changed program, the inputs first, for those of the unchanged one. Errors: Bind when an axis has not as many elements as its parts.
std::vector<OperandDesc> splitOperands(const Fusion& program, std::span<const OutputParts> outputs,
                                       std::span<const OperandDesc> operands, const ScalarBindings& bindings);

}  // namespace tokamak
