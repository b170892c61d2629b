// Which ops may become one kernel.
#pragma once

#include "heuristics/kernel_target.h"
#include "segment/segmenter.h"

namespace tokamak {

/// The rules of `--grouping fused`: a group is one kernel if the scheduler has nothing against it. Library calls and communications stay alone, but for
/// products with one of target.product_activations (segment/product_group.h): these are one group.
MergeRules kernelRules(const Fusion& fusion, const KernelTarget& target);

}  // namespace tokamak
