// Un-merging of reshapes at inputs and outputs: a kernel takes and gives tensors in more axes than its program, where
// it goes over these.
//
//   T2 = f(reshape(y - sum(y, axis of p), shape=[b, g * p]))        y = h(reshape(T0, shape=[b, g, p]))
//
// The sum is read at [b, c / p]: its row (b, g) is a part of T2's axis c. With f(y - sum(..)), what was reshaped and
// what follows element by element in the axes [b, g, p], as the output the rows are whole axes. So are they of the
// input where it is given as [b, g, p], and what a block needs of it twice is persistent. An axis that is split is a
// view of any memory: the outer part has the inner one's extent times its stride.
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

/// Gives outputs in more axes if the program is a kernel with rows only then. False, with nothing changed, if it is one
/// anyway, is none, or has a schedule. On a GPU also if reductions of a few elements are columns then that a thread has
/// whole, instead of being computed wherever they are read.
bool unmergeOutputs(Fusion& program, TargetKind target);

/// The same, and takes inputs in more axes where all that reads them does. What became of the axes of the tensors that
/// it takes and gives, the inputs first; empty where nothing was changed.
std::vector<AxisParts> unmergeReshapes(Fusion& program, TargetKind target);

/// The operands of the changed program for those of the unchanged one. Errors: Bind when an axis has not as many
/// elements as its parts.
std::vector<OperandDesc> unmergeOperands(const Fusion& program, std::span<const AxisParts> parts,
                                         std::span<const OperandDesc> operands, const ScalarBindings& bindings);

}  // namespace tokamak
