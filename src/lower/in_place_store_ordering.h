// in-place-store-ordering: stores into an updated input come after the loads of it.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// If an output is in the memory of an input (Kernel::updates), its stores move behind the statements of the same body
/// that read the input.
/// It runs early, while loads and stores of one element are in the same body.
kir::Kernel inPlaceStoreOrdering(kir::Kernel kernel);

}  // namespace tokamak
