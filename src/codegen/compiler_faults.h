// Text that C compilers are known to translate wrongly.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// gcc 12 at -O3 unrolls innermost loops of up to 16 turns before it looks for vectors, and then takes other elements where bytes become sums of 64 bits:
/// such a loop must not be unrolled.
bool unrollsWrongly(const kir::Loop& loop);

/// gcc (12 and 13 were seen) takes elements at -1 for those at 1 in vectorised loops whose index is 0 or 1 by a comparison. So what is read of a tensor and
/// used as an index is combined with a number of which the compiler does not know that it is 0: declared by the one text, combined by the other.
inline constexpr const char* kIndexHider = "  tk_i64 tk_hider = 0;\n  __asm__(\"\" : \"+r\"(tk_hider));\n";
inline constexpr const char* kHiddenAsIndex = " ^ tk_hider";
/// Whether the kernel reads or writes at indices that are values.
bool readsAtValues(const kir::Kernel& kernel);

}  // namespace tokamak
