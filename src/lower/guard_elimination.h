// guard-elimination: guards leave loops, or become loop bounds.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// Three rules, with P a guard i * c + d < e, c a positive constant:
/// - `for i in a..b { if P && Q { S } }`, Q without i, becomes `if Q { for i in a..b { if P { S } } }`.
/// - `for i in a..b { if P { S } }` becomes `for i in a..min(b, ceilDiv(e - d, c)) { S }`.
/// - `for i in a..b { for v in 0..n { if P { S } } }`, n a constant and v in d, is split at the first i for which P
///   fails for some v: the part before it has no guard.
///
/// Serial loops only: unrolled loops keep their constant length, and loops with barriers or block reductions keep the
/// same length for all threads.
kir::Kernel guardElimination(kir::Kernel kernel);

}  // namespace tokamak
