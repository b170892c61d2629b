// AwaitCopies: asynchronous copies to shared memory are waited for.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// Asynchronous copies that no group has taken (circular-buffers makes groups of those that are ahead) become one before the next barrier, or the next
/// statement that touches what they fill, and are waited for there. Where nothing is copied asynchronously groups go.
kir::Kernel awaitCopies(kir::Kernel kernel);

}  // namespace tokamak
