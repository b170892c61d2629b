// div-mod-simplification: divisions and remainders of indices are simplified.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// Applies simplifyRemainders (symbolic/scalar_simplifier.h) to every scalar of the kernel. For one, the lane of a
/// vector access leaves the divisions of its index.
kir::Kernel divModSimplification(kir::Kernel kernel);

}  // namespace tokamak
