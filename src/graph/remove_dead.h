// Pass remove-dead: takes away expressions that no output depends on.
//
// Before: any fusion. After: every expression is needed for an output; inputs, outputs and aliases are as before. It
// stands after passes that leave expressions without readers.
#pragma once

#include <memory>

#include "ir/fusion.h"

namespace tokamak {

std::unique_ptr<Fusion> removeDead(const Fusion& fusion);

}  // namespace tokamak
