// batched-block-reductions: the block reductions of a loop become one block reduction of several values.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// `for k in 0..n { BlockReduce T[b + k] }`, n a constant, becomes `BlockReduce T[b .. +n]`: one exchange between
/// threads instead of n.
kir::Kernel batchedBlockReductions(kir::Kernel kernel);

}  // namespace tokamak
