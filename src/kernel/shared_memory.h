// SharedMemory: where the shared buffers of a kernel lie.
#pragma once

#include <cstdint>
#include <map>

#include "kernel/kernel.h"

namespace tokamak::kir {

/// Places of the shared buffers in what a launch gives each block, in bytes.
struct SharedMemory {
  std::map<const TensorView*, int64_t, ById> places;
  int64_t bytes = 0;  ///< that a launch gives; 0: the buffers are in the code, which has room for 48 KiB
};

/// Of many bytes; of few there are no places, and nothing is asked of the launch.
SharedMemory sharedMemoryOf(const Kernel& kernel);

}  // namespace tokamak::kir
