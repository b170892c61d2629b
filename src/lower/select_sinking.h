// select-sinking: a choice between two like computations becomes one computation of chosen operands.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// For kernels whose blocks have threads: in a loop, `P ? f(T[i], ...) : f(T[j], ...)`, P without the loop's index and
/// i - j a constant d, becomes `f(T[j + d * (P ? 1 : 0)], ...)`, and where one side is the negative of the like of the
/// other, the result is negated by choice. Halves that are exchanged (rotary embeddings) are read and computed once,
/// instead of both for each element. Done only where a load becomes one of two; the memory that is read is that of the
/// chosen side.
kir::Kernel selectSinking(kir::Kernel kernel);

}  // namespace tokamak
