// div-mod-simplification: divisions and remainders of indices become simple.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// simplifyRemainders (symbolic/scalar_simplifier.h) for every scalar of the kernel's statements: the lanes of a vector
/// leave the divisions of its index.
kir::Kernel divModSimplification(kir::Kernel kernel);

}  // namespace tokamak
