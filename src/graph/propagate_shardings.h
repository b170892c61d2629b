// Pass propagate-shardings: gives tensors without a mesh the meshes and device axes of their neighbours
// (docs/devices.md).
//
// A tensor with a mesh has been decided on, by the user or before, and is not touched; a mesh alone says that it is
// replicated. Any other tensor is decided once: forwards by the operands of its op, else backwards by the results of
// ops that read it, until nothing is left to decide. It gets
//
// - the mesh of the first of these: linear asks weight, bias and input, matmul its second operand first, others the one
//   with most device axes, then the first;
// - the device axes of all of these that have this mesh, at axes where the op keeps parts (analysis/part_axes.h), as
//   far as neither the device type nor the axis is taken, a Stream mark included.
//
// An input gets a mesh alone. An output that updates an input has the marks of that input.
//
// Before: marks are legal (shardsOf). After: too, and every tensor that is connected with a mesh has one; operands that
// need other parts than they have are left to resharding. The pass stands behind those that simplify, as
// it says what each tensor is; `unify-extents` lets more parts agree.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/fusion.h"

namespace tokamak {

/// A schedule command that the pass gave.
struct ShardingCommand {
  std::string text;    ///< as in a schedule section: "parallelize(T3, axis=0, type=DIDx)"
  std::string reason;  ///< which tensor it comes from, and why
};

/// Decides in place. Gives the commands in the order in which they were carried out; carried out on the fusion as it
/// was they give the same. It takes time linear in the ops, but for logarithms.
/// Errors: HostProgram, naming the tensor and the axis, for marks that are not legal; then nothing has changed.
std::vector<ShardingCommand> giveShardings(Fusion& fusion);

/// The pass: a copy of the fusion with all marks. Errors: those of giveShardings.
std::unique_ptr<Fusion> propagateShardings(const Fusion& fusion);

/// The fusion's text with the commands of the pass at the end of its schedule. A comment gives the reason of a command,
/// and of those below it without one. It reads back as what the pass gives. Errors: those of giveShardings.
std::string explainShardings(const Fusion& fusion);

}  // namespace tokamak
