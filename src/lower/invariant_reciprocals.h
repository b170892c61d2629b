// invariant-reciprocals: division by a loop-invariant divisor becomes a product with its reciprocal.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// For kernels whose blocks have threads: in a loop without loops inside, a f32 quotient a / b that is only rounded to
/// f16 or bf16, where the loop does not change b, is a * m * r. Before the loop stand m, a power of two with which b *
/// m is neither tiny nor huge, and r = 1 / (b * m). The product differs from the quotient by at most 1.5 units in the
/// last place of f32 before it is rounded to 11 bits or fewer; infinities, zeros and NaN are those of the quotient. A
/// division takes about ten instructions, the products two. Where b is the element b[k] of a local array, k the index
/// of that loop, and a loop around it does not change the array, m and r are tables, filled before the outermost such
/// loop: each of a thread's columns has its own divisor, for all of its rows.
kir::Kernel invariantReciprocals(kir::Kernel kernel);

}  // namespace tokamak
