// unswitch-loops: what chooses in a loop by something that the loop does not change becomes one loop per choice.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// For kernels whose blocks have threads, and Vectorize loops: `for k { ... P ? x : y ... }`, P a comparison without k
/// that neighbouring threads mostly agree on, is `if P { for k { ... x ... } } if !P { for k { ... y ... } }`, where
/// the two compute much less than twice what the one does. So threads of a concatenation compute their own part only. P
/// mentions the index of a thread in quotients by 8 or more only: else the threads of a warp would run both loops, one
/// after the other.
kir::Kernel unswitchLoops(kir::Kernel kernel);

}  // namespace tokamak
