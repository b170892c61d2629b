// circular-buffers: buffers that are filled from memory for later iterations of a loop while this one computes.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// A circular buffer is marked as one (schedule/memory.h), allocated in a Serial loop, and filled there from inputs
/// alone. Elsewhere the mark has no effect.
///
/// Local buffers are filled one iteration ahead: `for k { A[j] = T0[f(k, j)]; ... A ... }` becomes
///
///   B[j] = T0[f(0, j)]; for k { A[j] = B[j]; B[j] = T0[f(k + 1, j)]; ... A ... }
///
/// Shared buffers of S stages that are filled p iterations ahead become S buffers; iteration k has number k % S:
///
///   fill(0); commit; ... fill(p - 1); commit; for k { fill(k + p); commit; wait but p; ... A[k % S] ... }
///
/// async-copies makes the copies asynchronous where it can. A wait covers the thread's own copies only; the barriers
/// that were there before order reads of other threads' copies.
kir::Kernel circularBuffers(kir::Kernel kernel);

}  // namespace tokamak
