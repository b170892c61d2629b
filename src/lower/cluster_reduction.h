// cluster-reduction: a reduction over a cluster becomes one in each block, and an exchange between the blocks through
// distributed shared memory.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// Every BlockReduce over CIDx becomes three steps: a reduction within the block, stores of its result into the shared
/// memory of every block of the cluster, and a combination of the results in the order of the blocks.
/// Blocks store only after all blocks have begun, or have read the results of the exchange before. They arrive at that
/// barrier early, so that only the barrier between stores and loads takes time. Consecutive reductions share both.
/// It is the last pass, because the others do not know cluster barriers.
kir::Kernel clusterReduction(kir::Kernel kernel);

}  // namespace tokamak
