// distinctNames: no Let has the name of a variable in scope.
#pragma once

#include "kernel/kernel.h"

namespace tokamak::kir {

/// Renames Lets whose name is in scope already, with their uses. (A pass that hoists a Let may move it in front of a
/// copy of its loop, which has a Let of the same name.)
void distinctNames(Kernel& kernel);

}  // namespace tokamak::kir
