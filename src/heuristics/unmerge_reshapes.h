// Un-merging of reshapes at inputs and outputs: a kernel has inputs and outputs with more axes than its program, so
// that rows are whole axes.
//
//   T2 = f(reshape(y - sum(y, axis of p), shape=[b, g * p]))        y = h(reshape(T0, shape=[b, g, p]))
//
// The sum is read at [b, c / p]: its row (b, g) is a part of T2's axis c. If the reshape is undone, so that the output
// has the axes [b, g, p], rows are whole axes. The same holds for T0, which may be persistent then.
// Any memory can be viewed so: the stride of the outer part is the inner part's extent times its stride.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/device.h"
#include "device/kernel_target.h"
#include "device/work.h"
#include "ir/fusion.h"

namespace tokamak {

/// The number of axes that each axis (of the visible shape) of a tensor was split into.
using AxisParts = std::vector<size_t>;

/// Splits axes of outputs if only then the program is one kernel with rows. On a GPU also if reductions of a few
/// elements become outer reductions of one thread then, instead of being recomputed by each reader.
/// False, with nothing changed, if the program is such a kernel anyway, cannot be one, or has a schedule.
bool unmergeOutputs(Fusion& program, TargetKind target);

/// As unmergeOutputs; also splits axes of inputs where all readers split them. Returns the parts of inputs' and
/// outputs' axes, inputs first; empty where nothing changed.
std::vector<AxisParts> unmergeReshapes(Fusion& program, TargetKind target);

/// The operands of the changed program, from those of the unchanged one. Errors: Bind if an axis does not have as many
/// elements as its parts together.
std::vector<OperandDesc> unmergeOperands(const Fusion& program, std::span<const AxisParts> parts,
                                         std::span<const OperandDesc> operands, const ScalarBindings& bindings);

}  // namespace tokamak
