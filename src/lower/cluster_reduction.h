// cluster-reduction: a reduction over a cluster is one in each block, then an exchange between the blocks through
// distributed shared memory.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// Every BlockReduce over CIDx becomes one in the block, stores of the block's result into the shared memory of every
/// block of the cluster, and a combination of what came, in the order of the blocks. Blocks wait before they write
/// until all have begun, or have read what was there before; they have arrived at that barrier long before, so that
/// only the barrier between writing and reading takes time. Block reductions that follow each other share both. It is
/// the last pass: the others know barriers of blocks only.
kir::Kernel clusterReduction(kir::Kernel kernel);

}  // namespace tokamak
