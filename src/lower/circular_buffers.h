// CircularBuffers: registers that are filled from memory for the next turn of a loop while this turn computes.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// Of tensors marked as circular buffers (schedule/memory.h) that are local, filled one turn ahead, and of which a Serial loop has a new one each turn,
/// filled by statements of its body that read nothing but inputs. Elsewhere the mark changes nothing.
///
///   for k { A[j] = T0[f(k, j)]; ... A ... }
///
/// becomes
///
///   B[j] = T0[f(0, j)]; for k { A[j] = B[j]; B[j] = T0[f(k + 1, j)]; ... A ... }
kir::Kernel circularBuffers(kir::Kernel kernel);

}  // namespace tokamak
