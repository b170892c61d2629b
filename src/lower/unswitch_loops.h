// unswitch-loops: a loop with choices by invariant comparisons becomes one loop per value of a comparison.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// For kernels whose blocks have threads, and Vectorize loops: `for k { ... P ? x : y ... }`, P a comparison without k,
/// becomes `if P { for k { ... x ... } } if !P { for k { ... y ... } }`. So threads of a concatenation compute their
/// own operand only.
/// The two loops have to be much less than twice the work of the one. P may mention the index of a thread in quotients
/// by 8 or more only: else the threads of a warp would run both loops, one after the other.
kir::Kernel unswitchLoops(kir::Kernel kernel);

}  // namespace tokamak
