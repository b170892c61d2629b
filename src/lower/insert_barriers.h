// insert-barriers: barriers order the accesses of a block's threads to shared memory.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// Inserts a Barrier between a store and a later load of a shared tensor, between a load and a later store, and before
/// a new allocation after either. In loops it also does so between iterations. Barriers are outside of guards.
/// It assumes that one thread writes each element, and knows no more about threads. Errors: Schedule when both accesses
/// are under one guard that not all threads may pass.
kir::Kernel insertBarriers(kir::Kernel kernel);

}  // namespace tokamak
