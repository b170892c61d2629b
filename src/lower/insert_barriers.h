// insert-barriers: threads of a block see what others have put into shared memory.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// Puts a Barrier where a shared tensor is read after it was written, written after it was read, or allocated anew
/// after both, with no barrier between. In loops this holds from one iteration to the next, too. Barriers stand outside
/// of guards.
/// Threads are not told apart; it is only assumed that each element is written by one thread. Errors: Schedule when
/// both accesses stand under one guard that not all threads may pass.
kir::Kernel insertBarriers(kir::Kernel kernel);

}  // namespace tokamak
