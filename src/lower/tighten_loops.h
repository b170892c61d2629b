// tighten-loops: a guard around all of a loop's body leaves the loop.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// `for i in a..b { if P && Q { S } }` where Q does not depend on i becomes `if Q { for i in a..b { if P { S } } }`, and where P is i * c + d < e with a
/// positive constant c, the loop ends at min(b, ceilDiv(e - d, c)) without it. Serial loops only: unrolled ones keep their constant length, and
/// loops with barriers or combining inside keep their length for all threads.
kir::Kernel tightenLoops(kir::Kernel kernel);

}  // namespace tokamak
