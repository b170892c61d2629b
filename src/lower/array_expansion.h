// array-expansion: loop-invariant code motion of values that depend on an inner loop's index alone: a table holds them.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// `for r { for c { .. f(c) .. } }` becomes `for c { table[c] = f(c) } for r { for c { .. table[c] .. } }`, where f
/// takes at least a dozen operations. A thread that has several rows computes what depends on the column once.
/// The innermost loop has a constant number of iterations, at most 1024, and holds values and stores only. Where blocks
/// have threads it is a Vectorize loop, and the table is in registers.
/// It runs before vectorize-accesses, which widens loads of the new loop. Values that leave a loop that may not run are
/// guarded.
kir::Kernel arrayExpansion(kir::Kernel kernel);

}  // namespace tokamak
