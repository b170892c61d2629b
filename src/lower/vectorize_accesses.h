// vectorize-accesses: what a Vectorize loop reads and writes in memory moves in wide accesses.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// `for k in 0..n Vectorize { T[b + k] = f(S[a + k]) }` becomes `V[0 .. +n] = S[a .. +n]; for k in 0..n Unroll { W[k] = f(V[k]) }; T[b .. +n] =
/// W[0 .. +n]`, where a, b and what guards the accesses do not depend on k, and a and b are proved to be multiples of what one access
/// moves (at most 16 bytes). Other accesses stay as they are, and so do registers. Values that are the same for all lanes are computed before the loop.
kir::Kernel vectorizeAccesses(kir::Kernel kernel);

}  // namespace tokamak
