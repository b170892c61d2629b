// guard-elimination: guards leave the loops around them, or become loop bounds.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// Three rules, with P a guard i * c + d < e, c a positive constant:
///   `for i in a..b { if P && Q { S } }`, Q without i, is `if Q { for i in a..b { if P { S } } }`;
///   `for i in a..b { if P { S } }` is `for i in a..min(b, ceilDiv(e - d, c)) { S }`;
///   `for i in a..b { for v in 0..n { if P { S } } }`, n a constant and v in d, is cut at the i from which on some v
///   fails: before it P is not asked.
/// Serial loops only: unrolled ones keep their constant length, and loops with barriers or combining inside keep their
/// length for all threads.
kir::Kernel guardElimination(kir::Kernel kernel);

}  // namespace tokamak
