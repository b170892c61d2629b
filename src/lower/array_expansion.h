// array-expansion: loop-invariant code motion of values that depend on an inner loop's index alone: a table holds them.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// `for r { for c { .. f(c) .. } }`, where f takes at least a dozen operations, becomes `for c { table[c] = f(c) } for
/// r { for c { .. table[c] .. } }`: a thread that goes through the rows of some columns computes what belongs to a
/// column once. The innermost loop is one of at most 1024 iterations, a constant number, with values and stores only;
/// where blocks have threads it is a vector loop, and the table is in registers. Done before vectorize-accesses, which
/// widens the reading in the new loop. What leaves a loop that may not run is guarded.
kir::Kernel arrayExpansion(kir::Kernel kernel);

}  // namespace tokamak
