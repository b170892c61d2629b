// unroll-and-jam: an outer reduction adds several rows in one iteration.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// For kernels whose blocks have one thread: `for r { for c { T[c] = f(T[c], v(r, c)) } }` becomes `for r by 8 { for c
/// { T[c] = f(.. f(f(T[c], v(r, c)), v(r + 1, c)) .., v(r + 7, c)) } }`, and the original loops for the remaining rows.
/// A constant number of fewer rows is jammed completely.
/// Results are loaded and stored once for eight rows. Each is combined in the original order, so its bits are the same.
/// T is local, and its index moves with c, not with r. There are at least 1,024 columns: with shorter rows hardware
/// prefetching is faster than eight streams. Values are cheap; expensive ones hide the loads of results anyway.
kir::Kernel unrollAndJam(kir::Kernel kernel);

}  // namespace tokamak
