// distinctNames: a value's name is not given again where it is known.
#pragma once

#include "kernel/kernel.h"

namespace tokamak::kir {

/// Gives a Let a name of its own where its name is known already, and renames the uses in its scope. A pass that moves
/// a Let out of a loop may move it to where a copy of that loop stands, with a Let of the same name.
void distinctNames(Kernel& kernel);

}  // namespace tokamak::kir
