// The unsharded fusion: what a host program over ranks computes, as one device would, for the oracle.
#pragma once

#include <memory>

#include "host/ir/host_ir_container.h"

namespace tokamak {

/// A fusion of the program's inputs and outputs, of these sizes and without meshes, that has the same ops: loops are
/// unrolled, slices that are written one by one are joined, and a communication gives what it takes. Streams, Waits and
/// buffers are left out. `bindings`: the values of all extents and of all scalars that steer.
/// Thread safety: one thread at a time: it makes scalars in the program.
/// Errors: Unsupported, naming the statement, for CollectivePermute, LaunchKernel, coalesced or single transfers whose
/// other side is not in the program, and slices that are written otherwise than as the whole of one axis.
std::unique_ptr<Fusion> unshardedFusion(const HostIrContainer& program, const ScalarBindings& bindings);

}  // namespace tokamak
