// Passes that manage the buffers of a host program. They run after lower-streams, in this order.
#pragma once

#include "host/ir/host_ir_container.h"

namespace tokamak {

/// contract-stream-buffers: array contraction. An intermediate of which each iteration of a stream loop uses its own
/// slice only is allocated per iteration, not as a whole. An iteration on a stream reuses the memory of the one before.
/// All uses of an iteration must be on one stream.
void contractStreamBuffers(HostIrContainer& program);

/// place-allocations. Inserts an Allocate before each top-level op for results that nothing allocates. A Set of an
/// intermediate gets none, as it binds its operand's tensor; a Set of an output gets one.
void placeAllocations(HostIrContainer& program);

/// insert-deallocations. Inserts a Deallocate after the last use of a buffer in the block that allocates it, as soon as
/// the current stream is ordered after all uses (at the latest at the program's end). Not for buffers of outputs.
/// Views, aliases and binding Sets belong to the buffer of their root.
void insertDeallocations(HostIrContainer& program);

}  // namespace tokamak
