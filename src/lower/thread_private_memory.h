// Thread-private shared memory: shared buffers of which each element is touched by one thread only.
#pragma once

#include <set>

#include "kernel/kernel.h"

namespace tokamak {

/// The shared tensors whose elements are each touched by one thread only, as far as indices tell: from the place of
/// each access the index of the thread along every dimension of the block is computed back. Threads need not meet on
/// account of these.
std::set<const TensorView*> threadPrivateTensors(const kir::Kernel& kernel);

}  // namespace tokamak
