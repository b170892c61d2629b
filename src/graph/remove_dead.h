// Pass remove-dead: removes expressions that no output depends on.
//
// Before: any fusion. After: an output depends on every expression; inputs, outputs and aliases do not change. It runs
// after passes that leave expressions without readers.
#pragma once

#include <memory>

#include "ir/fusion.h"

namespace tokamak {

std::unique_ptr<Fusion> removeDead(const Fusion& fusion);

}  // namespace tokamak
