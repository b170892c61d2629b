// Device meshes of tensors: the command that gives one, and whether marks on its axes fit it.
#pragma once

#include <string>

#include "base/export.h"
#include "ir/tensor_view.h"

namespace tokamak {

/// Spreads the tensor over the ranks of the mesh. Each of them has all of it, but for axes that are marked DIDx, DIDy
/// or DIDz: of these it has a part, and memory for that part alone (docs/devices.md). Another mesh is replaced.
/// Errors: Schedule, and nothing changes, for a mesh that names no rank, one twice or a negative one, and for device
/// axes of the tensor that do not fit it.
TOKAMAK_EXPORT void set_device_mesh(TensorView* tensor, DeviceMesh mesh);

/// Why the axis of a tensor with a mesh may not get this mark: what shardsOf() refuses. Empty where it may, where the
/// tensor has no mesh yet, and for marks that have nothing to do with devices.
std::string shardProblem(TensorView& tensor, const IterDomain& axis, ParallelType type);

}  // namespace tokamak
