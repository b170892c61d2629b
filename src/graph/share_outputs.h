// Shared outputs: outputs that are movements of one value are stored once.
#pragma once

#include <memory>

#include "ir/fusion.h"

namespace tokamak {

/// The fusion in which one output with all elements of such a value is computed and the others are views of it
/// (viewOutputsOf), or null if there is nothing to share. The value itself is no output. Equal outputs are views of the
/// first. No output's value changes. For callers that accept views.
std::unique_ptr<Fusion> shareOutputs(const Fusion& fusion);

}  // namespace tokamak
