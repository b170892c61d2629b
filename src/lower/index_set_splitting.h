// index-set-splitting: a loop whose values choose by its index becomes loops over the ranges in which the choice is
// known.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// For kernels whose blocks have one thread, and serial loops with values that choose by the loop's index i:
/// - `for i in 0..n` with i / c or i % c in a choice, c and n / c constants, is `for a in 0..n / c { for b in 0..c }`
///   with i = a * c + b;
/// - `for i in s..t { ... P ? x : y ... }` with P a comparison that changes once, at f, as i grows, is a loop from s to
///   f and one from f to t, in which P is known; so are choices then, and what nobody needs any more goes.
///
/// Comparisons that follow from a known one are known, too (i < 2 * n where i < n). A loop is split into a few parts at
/// most, with at most twice its statements in all: nested choices would need nearly all statements in each part.
kir::Kernel indexSetSplitting(kir::Kernel kernel);

}  // namespace tokamak
