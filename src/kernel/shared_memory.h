// SharedMemory: where the shared buffers of a kernel lie.
#pragma once

#include <map>

#include "kernel/kernel.h"

namespace tokamak::kir {

/// Offsets of the shared buffers in what a launch gives each block, in bytes.
struct SharedMemory {
  std::map<const TensorView*, Scalar*, ById> offsets;
  Scalar* bytes = nullptr;  ///< that a launch gives; null: the buffers are in the code, which has room for 48 KiB
};

/// Of many bytes, or of a number that is known at launch; of few there are no offsets, and nothing is asked of the
/// launch. Makes scalars in the kernel's fusion.
SharedMemory sharedMemoryOf(const Kernel& kernel);

/// How many bytes a launch gives each block; 0: none. Makes nothing: launches of one kernel are prepared on several
/// threads.
int64_t launchedSharedBytes(const Kernel& kernel, const ScalarBindings& bindings);

}  // namespace tokamak::kir
