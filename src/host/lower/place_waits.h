// Waits: where a host program waits for what it has posted.
#pragma once

#include "host/ir/host_ir_container.h"

namespace tokamak {

/// Each Communication of the top level that no Wait names gets one: before the first statement that reads or writes its
/// result, writes its input or lets go of either, at the latest at the end of the program. Slices, and Sets that bind
/// what they take, do not read. Communications from one
/// tensor to another one with other roots do not wait for each other: a rank has the result of one of them.
/// Before: what has been posted in bodies has its Waits.
void placeWaits(HostIrContainer& program);

}  // namespace tokamak
