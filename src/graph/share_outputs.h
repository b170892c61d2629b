// Shared outputs: several outputs that are views of one computed value are stored once.
#pragma once

#include <memory>

#include "ir/fusion.h"

namespace tokamak {

/// The fusion in which one output that holds all elements of such a value is computed and the others are views of it,
/// or null if there are none to share. The value itself is no output. Outputs that are computed alike are views of the
/// first of them. Which outputs are views says viewOutputsOf;
/// nothing changes in what any output is. For callers who take views.
std::unique_ptr<Fusion> shareOutputs(const Fusion& fusion);

}  // namespace tokamak
