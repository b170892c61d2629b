// hoist-values: what a loop does not change is computed before it.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// For kernels whose blocks have one thread: a value that depends neither on the loop's index nor on what the loop
/// writes stands before the loop, and before those around it as far as that holds. What reads memory leaves only loops
/// that are proved to have a turn, unless it reads inputs under a condition of its own: then whether there is a turn is
/// a condition more. That alone is done for kernels with threads, too. Compilers do the same where it has no branches;
/// but square roots, maxima and divisions have, and what is left in a loop may keep it from becoming one of vectors.
/// Values of several loops that only depend on inputs are computed once. Last: values have been given their places.
kir::Kernel hoistValues(kir::Kernel kernel);

}  // namespace tokamak
