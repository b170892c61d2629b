// Passes about the buffers of a host program; they run after lower-streams, in this order.
#pragma once

#include "host/host_ir_container.h"

namespace tokamak {

/// rotate-stream-buffers. An intermediate whose every use is a slice along the streamed axis within one stream loop gets
/// one slot per worker instead of its full extent; iterations that share a slot share a stream, which orders them.
void rotateStreamBuffers(HostIrContainer& program);

/// place-allocations. Every result of a top-level op that nothing allocates gets an Allocate just before; a Set of an
/// intermediate stays without one (it binds its operand's tensor), a Set of an output gets one.
void placeAllocations(HostIrContainer& program);

/// insert-deallocations. After the last use of a buffer that its block allocates comes a Deallocate, unless an output lives in
/// it. Views, aliases and Sets that bind share the life of their root.
void insertDeallocations(HostIrContainer& program);

}  // namespace tokamak
