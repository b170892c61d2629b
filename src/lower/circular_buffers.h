// CircularBuffers: buffers that are filled from memory for the next iterations of a loop while this iteration computes.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// A circular buffer is a tensor that is marked as one (schedule/memory.h), that a Serial loop allocates anew in each
/// iteration, and that statements of its body fill from inputs alone. Elsewhere the mark changes nothing. A local
/// buffer that is filled one iteration ahead:
/// are filled one iteration ahead:
///
///   for k { A[j] = T0[f(k, j)]; ... A ... }
///
/// becomes
///
///   B[j] = T0[f(0, j)]; for k { A[j] = B[j]; B[j] = T0[f(k + 1, j)]; ... A ... }
///
/// Shared ones of S stages, filled p iterations ahead, get S buffers, of which iteration k has the one at k % S:
///
///   fill(0); commit; ... fill(p - 1); commit; for k { fill(k + p); commit; wait but p; ... A[k % S] ... }
///
/// The filling copies become asynchronous where they can (vectorize-accesses). A thread that waits has only its own
/// copies; where threads read what others copied, the barriers that were there before order it.
kir::Kernel circularBuffers(kir::Kernel kernel);

}  // namespace tokamak
