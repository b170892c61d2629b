// Passes about the buffers of a host program; they run after lower-streams, in this order.
#pragma once

#include "host/ir/host_ir_container.h"

namespace tokamak {

/// contract-stream-buffers. An intermediate whose every use is an iteration's own slice within one stream loop is
/// allocated slice by slice, in the iterations, instead of as a whole: memory that an iteration gives back on its
/// stream serves the next one there. All uses of an iteration must be on one stream.
void contractStreamBuffers(HostIrContainer& program);

/// place-allocations. Every result of a top-level op that nothing allocates gets an Allocate just before; a Set of an
/// intermediate stays without one (it binds its operand's tensor), a Set of an output gets one.
void placeAllocations(HostIrContainer& program);

/// insert-deallocations. After the last use of a buffer that its block (of the program, or of a loop's body that alone
/// uses it) allocates comes a Deallocate, as soon as the current stream comes after all uses (at the latest at the
/// program's end), unless an output lives in it. Views, aliases and Sets that bind share the life of their root.
void insertDeallocations(HostIrContainer& program);

}  // namespace tokamak
