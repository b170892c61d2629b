// in-place-store-ordering: stores into an updated input come after the loads of it.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// Where outputs lie in the memory of inputs (Kernel::updates): an element of such an output is stored behind what
/// reads the input in the same body. First: what reads the input's element for an output stands in one body with what
/// stores the other ones.
kir::Kernel inPlaceStoreOrdering(kir::Kernel kernel);

}  // namespace tokamak
