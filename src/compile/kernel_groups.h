// Which ops may become one kernel.
#pragma once

#include "device/kernel_target.h"
#include "segment/segmenter.h"

namespace tokamak {

/// The rules of `--grouping fused`: a group is one kernel if the scheduler has nothing against it. Library calls and
/// communications stay alone, but for products with one of target.product_activations (graph/product_group.h): these
/// are one group.
MergeRules kernelRules(const Fusion& fusion, const KernelTarget& target);

/// Whether the stream loop over the group's outputs, if their marks ask for one, can deal out the group as a whole.
bool mayBeDealtOut(const Fusion& fusion, const SegmentedGroup& group);

}  // namespace tokamak
