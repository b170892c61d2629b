// blocked-summation: long sums become sums of partial sums.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// For kernels whose blocks have one thread. It changes additions to f32 or f64 elements in loops that do not move
/// these elements:
/// - A loop with a constant number of iterations, at most 64, inside of another one, `for o { for i { T[0] = T[0] + x }
/// }`, gets eight accumulators. (Longer rows have vector accumulators by their schedule.)
/// - In a loop whose iterations each add 16 numbers or more, each iteration has a partial sum.
/// - In a loop of more than 64 iterations, every 64 of them have a partial sum.
/// A chain of n additions becomes chains of some hundred. The error of a sum grows with its longest chain, because
/// rounding errors may all have the same sign.
kir::Kernel blockedSummation(kir::Kernel kernel);

}  // namespace tokamak
