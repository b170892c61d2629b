// Gives tensors the marks that a sharding says (analysis/sharding.h).
#pragma once

#include "analysis/sharding.h"

namespace tokamak {

/// Gives a tensor without marks, whose loops are its logical axes, this mesh, its device axes and its partials.
/// Scalars are of the tensor's fusion. Legal: cuts that make one part for each device.
void shard(TensorView& tensor, const Sharding& sharding);

/// Cuts an axis that is a loop, and marks the outermost part of it. Scalars are of the tensor's fusion.
void markParts(TensorView& tensor, const MarkedParts& parts, ParallelType type);
/// The same, of an axis of the logical domain, which may be a reduction axis.
void markLogicalParts(TensorView& tensor, const MarkedParts& parts, ParallelType type);

}  // namespace tokamak
