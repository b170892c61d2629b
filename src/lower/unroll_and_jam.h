// unroll-and-jam: an outer reduction takes several rows in one iteration.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// For kernels whose blocks have one thread: `for r { for c { T[c] = f(T[c], v(r, c)) } }` becomes
/// `for r by 8 { for c { T[c] = f(.. f(f(T[c], v(r, c)), v(r + 1, c)) .., v(r + 7, c)) } }`, and the same loops as
/// before for the rows that are left. A known number of fewer rows is taken at once. The results are read and written
/// once for eight rows, and as many rows of memory are on their way at once. Each result is combined in the order that
/// it was, so that its bits are the same. T is local, its indices move with c and not with r, and are 1,024 or more
/// (processors foresee the next one of shorter rows, and not several at once); values are cheap, such as loads, casts
/// and a few operations: others take longer than results that are read again.
kir::Kernel unrollAndJam(kir::Kernel kernel);

}  // namespace tokamak
