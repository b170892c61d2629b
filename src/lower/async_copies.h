// AsyncCopies: copies from inputs to shared memory are asynchronous.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// Copies of 4 bytes or more from an input to shared memory, and stores of such elements to circular buffers, begin
/// where they stand. Those that no group has taken (circular-buffers makes groups of those that are ahead) become one
/// before the next barrier, or the next statement that touches what they fill, and are waited for there. Where nothing
/// is copied asynchronously groups go.
kir::Kernel asyncCopies(kir::Kernel kernel);

}  // namespace tokamak
