// cluster-reduction: a reduction over a cluster is one in each block, then an exchange between the blocks through
// distributed shared memory.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// Every BlockReduce over CIDx becomes three steps: a reduction within the block, stores of its result into the shared
/// memory of every block of the cluster, and a combination of the results in the order of the blocks.
/// Blocks write only after all blocks have begun, or have read what was there before. They arrive at that barrier
/// early, so that only the barrier between writing and reading takes time; consecutive reductions share both.
/// It is the last pass, as the others know barriers of blocks only.
kir::Kernel clusterReduction(kir::Kernel kernel);

}  // namespace tokamak
