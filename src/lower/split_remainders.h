// split-remainders: indices that nothing puts together again become simple.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// simplifyRemainders (symbolic/scalar_simplifier.h) for every scalar of the kernel's statements: the lanes of a vector
/// leave the divisions of its index.
kir::Kernel splitRemainders(kir::Kernel kernel);

}  // namespace tokamak
