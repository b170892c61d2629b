// How wide a kernel's accesses to global memory are.
#pragma once

#include <map>

#include "kernel/kernel.h"

namespace tokamak::kir {

/// Per global tensor that the threads of a block read or write at different indices: the bytes of the narrowest such
/// access. What all threads read together, once per row, say, does not count.
std::map<const TensorView*, int64_t, ById> narrowestAccesses(const Kernel& kernel);

}  // namespace tokamak::kir
