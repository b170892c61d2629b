// CircularBuffers: buffers that are filled from memory for the next iterations of a loop while this iteration computes.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// Of tensors marked as circular buffers (schedule/memory.h) of which a Serial loop has a new one each iteration,
/// filled by statements of its body that read nothing but inputs. Elsewhere the mark changes nothing. Local ones that
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
/// What fills them becomes asynchronous where it can (vectorize-accesses). Who waits has its own copies; where threads
/// read what others have copied, the barriers that were there before order it.
kir::Kernel circularBuffers(kir::Kernel kernel);

}  // namespace tokamak
