// vectorize-accesses: loads and stores of Vectorize loops become wide accesses.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// `for k in 0..n Vectorize { T[b + k] = f(S[a + k]) }` becomes `V[0 .. +n] = S[a .. +n]; for k in 0..n Unroll { W[k] =
/// f(V[k]) }; T[b .. +n] = W[0 .. +n]`, where a and b do not depend on k.
/// An access is as wide as possible, at most 16 bytes: its index has to be a multiple of its width, and its guard has
/// to be the same for all lanes. (A row padded by 2 elements is read 2 elements at a time.)
/// Other accesses do not change, nor do accesses to registers. Invariant values are computed before the loop.
kir::Kernel vectorizeAccesses(kir::Kernel kernel);

}  // namespace tokamak
