// Thread-private shared memory: shared buffers of which one thread only touches each element.
#pragma once

#include <set>

#include "kernel/kernel.h"

namespace tokamak {

/// The shared tensors of which one thread only touches each element: they need no barrier. This is proved by computing
/// the thread's indices back from the index of each access.
std::set<const TensorView*> threadPrivateTensors(const kir::Kernel& kernel);

}  // namespace tokamak
