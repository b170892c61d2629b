// blocked-summation: long sums are made of sums of blocks.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// For kernels whose blocks have one thread, as they are lowered; of additions to f32 or f64 in loops that do not go
/// along what is added to:
/// - In a loop of at most 64 iterations, a constant number, inside of another loop, `for o { for i { T[0] = T[0] + x }
///   }`, iterations add to eight values of their own, which are then added to T. (Longer rows have vector accumulators
///   by their schedule.)
/// - In a loop whose every iteration adds 16 numbers or more, each iteration adds to values of its own.
/// - In a loop of more than 64 iterations, every 64 add to values of their own.
/// So a chain of n additions becomes chains of some hundred: the rounding errors of numbers of few bits may all have
/// the same sign, and the error of a sum is that of its longest chain.
kir::Kernel blockedSummation(kir::Kernel kernel);

}  // namespace tokamak
