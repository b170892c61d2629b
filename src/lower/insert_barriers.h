// insert-barriers: threads of a block see what others have put into shared memory.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// Puts a Barrier where a shared tensor is read after it was written, written after it was read, or allocated anew
/// after both, with none between; in loops also from one iteration to the next. Barriers stand outside of guards. Which
/// thread accesses what is not looked at, but for one thing: a tensor's elements are each written by one thread.
/// Errors: Schedule when both accesses stand under one guard that threads may not all pass.
kir::Kernel insertBarriers(kir::Kernel kernel);

}  // namespace tokamak
