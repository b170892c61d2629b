// OwnPlaces: buffers in shared memory of which each thread has elements of its own.
#pragma once

#include <set>

#include "kernel/kernel.h"

namespace tokamak {

/// The shared tensors whose elements are each touched by one thread only, as far as indices tell: from the place of
/// each access the index of the thread along every dimension of the block is computed back. Threads need not meet on
/// account of these.
std::set<const TensorView*> tensorsInOwnPlaces(const kir::Kernel& kernel);

}  // namespace tokamak
