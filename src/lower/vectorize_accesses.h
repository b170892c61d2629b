// vectorize-accesses: what a Vectorize loop reads and writes in memory moves in wide accesses.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// `for k in 0..n Vectorize { T[b + k] = f(S[a + k]) }` becomes `V[0 .. +n] = S[a .. +n]; for k in 0..n Unroll { W[k] =
/// f(V[k]) }; T[b .. +n] = W[0 .. +n]`, where a and b do not depend on k and are proved to be multiples of what one
/// access moves. That is as much as can be, at most 16 bytes: an access is as narrow as the multiples that a and b are,
/// and as the lanes that what guards it is proved to be the same for. (A row padded by 2 elements is read 2 elements at
/// a time.) Other accesses stay as they are, and so do registers. Values that are the same for all lanes are computed
/// before the loop.
kir::Kernel vectorizeAccesses(kir::Kernel kernel);

}  // namespace tokamak
