// Resharding layouts: tensors that are sent are computed in the order in memory in which they are sent.
#pragma once

#include "ir/fusion.h"

namespace tokamak {

/// Gives operands of reshardings the stride order in which their parts lie together, so that no copy comes before they
/// are sent: where nobody else has a say, which are intermediates without an order of their own that kernels compute,
/// that no library reads and that are not streamed. The first resharding of a tensor decides.
/// Errors: those of reshardingSteps().
void layOutForReshardings(Fusion& fusion);

}  // namespace tokamak
