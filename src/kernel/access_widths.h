// The widths of a kernel's accesses to global memory.
#pragma once

#include <map>

#include "kernel/kernel.h"

namespace tokamak::kir {

/// Per global tensor, the bytes of the narrowest access at which threads of a block have different indices. (Accesses
/// at one index for all threads, as once per row, do not count.)
std::map<const TensorView*, int64_t, ById> narrowestAccesses(const Kernel& kernel);

}  // namespace tokamak::kir
