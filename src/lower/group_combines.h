// group-combines: values that threads combine side by side are combined together.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// `for k in 0..n { combine T[b + k] }`, n a constant, becomes `combine T[b .. +n]`: one exchange between threads
/// instead of n.
kir::Kernel groupCombines(kir::Kernel kernel);

}  // namespace tokamak
