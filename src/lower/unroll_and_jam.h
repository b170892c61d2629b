// unroll-and-jam: an outer reduction takes several rows in one iteration.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// For kernels whose blocks have one thread: `for r { for c { T[c] = f(T[c], v(r, c)) } }` becomes `for r by 8 { for c
/// { T[c] = f(.. f(f(T[c], v(r, c)), v(r + 1, c)) .., v(r + 7, c)) } }`, and the original loops for the remaining rows.
/// A known number of fewer rows is jammed at once.
/// Results are loaded and stored once for eight rows, and eight rows of memory are being read at once. Each result is
/// combined in the original order, so its bits are the same.
/// T is local; its index moves with c, not with r, and there are 1,024 such indices or more: processors foresee the
/// next row where rows are shorter, but not several at once. Values are cheap (loads, casts, a few operations); others
/// take longer than loading results again.
kir::Kernel unrollAndJam(kir::Kernel kernel);

}  // namespace tokamak
