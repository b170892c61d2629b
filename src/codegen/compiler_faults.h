// Text that C compilers are known to translate wrongly.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// gcc 12 at -O3 unrolls innermost loops of up to 16 turns before it looks for vectors, and then takes other elements where bytes become sums of 64 bits:
/// such a loop must not be unrolled.
bool unrollsWrongly(const kir::Loop& loop);

}  // namespace tokamak
