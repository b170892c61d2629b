// in-place-store-ordering: stores into an updated input come after the loads of it.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// Where outputs lie in the memory of inputs (Kernel::updates), an element of such an output is stored after the
/// statements of the same body that read the input.
/// It runs early: the loads of an input's element then stand in one body with the stores of the output.
kir::Kernel inPlaceStoreOrdering(kir::Kernel kernel);

}  // namespace tokamak
