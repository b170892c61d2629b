// Un-merging of reshapes at inputs and outputs: a kernel takes and gives tensors in more axes than its program, so that
// its rows are whole axes.
//
//   T2 = f(reshape(y - sum(y, axis of p), shape=[b, g * p]))        y = h(reshape(T0, shape=[b, g, p]))
//
// The sum is read at [b, c / p]: its row (b, g) is a part of T2's axis c. If the reshape is undone, and f(y - sum(..))
// is given in the axes [b, g, p], then rows are whole axes.
// The same holds for the input if it is given as [b, g, p]; what a block needs of it twice is persistent. Any memory
// can be viewed so: the stride of the outer part is the inner part's extent times its stride.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/device.h"
#include "device/kernel_target.h"
#include "ir/fusion.h"

namespace tokamak {

/// How many axes each axis (of the visible shape) of a tensor became.
using AxisParts = std::vector<size_t>;

/// Gives outputs in more axes if the program is a kernel with rows only then. On a GPU also if reductions of a few
/// elements then become outer reductions that one thread computes, instead of being recomputed wherever they are read.
/// False, with nothing changed, if the program is such a kernel anyway, cannot be one, or has a schedule.
bool unmergeOutputs(Fusion& program, TargetKind target);

/// As unmergeOutputs, and takes inputs in more axes where everything that reads them does. Gives what the axes of
/// inputs and outputs became, inputs first; empty where nothing changed.
std::vector<AxisParts> unmergeReshapes(Fusion& program, TargetKind target);

/// The operands of the changed program, from those of the unchanged one. Errors: Bind when an axis has not as many
/// elements as its parts together.
std::vector<OperandDesc> unmergeOperands(const Fusion& program, std::span<const AxisParts> parts,
                                         std::span<const OperandDesc> operands, const ScalarBindings& bindings);

}  // namespace tokamak
