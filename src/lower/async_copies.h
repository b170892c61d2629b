// AsyncCopies: copies from inputs to shared memory are asynchronous.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// Asynchronous copies are copies of 4 bytes or more from an input to shared memory, and stores of such elements to
/// circular buffers. They begin where they stand.
/// Copies that belong to no group yet form one before the next barrier, or before the next statement that touches what
/// they fill, and are waited for there. (circular-buffers groups those that are ahead.) Where nothing is copied
/// asynchronously, groups are removed.
kir::Kernel asyncCopies(kir::Kernel kernel);

}  // namespace tokamak
