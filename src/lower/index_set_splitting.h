// index-set-splitting: a loop with choices that depend on its index becomes loops over ranges in which these are known.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// For kernels whose blocks have one thread, and Serial loops with choices that depend on the loop's index i:
/// - `for i in 0..n` with i / c or i % c in a choice, c and n / c constants, becomes `for a in 0..n / c { for b in
///   0..c }` with i = a * c + b.
/// - `for i in s..t { ... P ? x : y ... }`, P a comparison that changes once as i grows, at f, becomes loops from s to
///   f and from f to t. In each P is known, choices are folded and unused values removed.
///
/// Comparisons that follow from a known one are known, too (i < 2 * n where i < n). A loop becomes at most eight loops
/// with at most twice its statements in all.
kir::Kernel indexSetSplitting(kir::Kernel kernel);

}  // namespace tokamak
