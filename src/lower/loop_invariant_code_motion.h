// loop-invariant-code-motion: loop-invariant values are computed before the loop.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// For kernels whose blocks have one thread: a value that depends neither on the loop's index nor on what the loop
/// writes stands before the loop, and before those around it as far as that holds. A load is hoisted only from
/// loops proved to run. A guarded load of an input may leave any loop if "the loop runs" is added to its guard: that
/// alone is done for kernels with threads, too. Compilers do the same where there are no branches; but square roots,
/// maxima and divisions have some, and what is left in a loop may keep it from being vectorised.
/// Values of several loops that depend on inputs only are computed once. The pass runs after those that decide where
/// values stand.
kir::Kernel loopInvariantCodeMotion(kir::Kernel kernel);

}  // namespace tokamak
