// invariant-reciprocals: division by a loop-invariant divisor becomes a product with its reciprocal.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// For kernels whose blocks have threads. In an innermost loop that does not change b, an f32 quotient a / b that is
/// only rounded to f16 or bf16 becomes a * m * r: two instructions instead of about ten.
/// m and r are computed before the loop: m is a power of two for which b * m is neither tiny nor huge, r = 1 / (b * m).
/// The product differs from the quotient by at most 1.5 units in the last place of f32, before it is rounded to 11 bits
/// or fewer. Infinities, zeros and NaN are those of the quotient.
/// If b is an element b[k] of a local array, k the loop's index, and a loop around does not change the array, m and r
/// are tables. They are filled before the outermost such loop: each column of a thread has its divisor, for all rows.
kir::Kernel invariantReciprocals(kir::Kernel kernel);

}  // namespace tokamak
