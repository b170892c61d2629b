// Waits: where a host program waits for what it has posted.
#pragma once

#include "host/ir/host_ir_container.h"

namespace tokamak {

/// Each Communication of the top level or of a loop's body that no Wait names gets one in its block: before the first
/// statement that reads or writes its result, writes its input or lets go of either, that leaves the stream on which it
/// was posted, or that catches this stream for the workers of a loop which does so; else at the end. Slices, and Sets
/// that bind what they take, do not read. Communications from one tensor to another one with other roots do not wait
/// for each other: a rank has the result of one of them.
/// Before: what has been posted in choices has its Waits.
void placeWaits(HostIrContainer& program);

}  // namespace tokamak
