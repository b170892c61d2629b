// SharedMemory: the offsets of a kernel's shared buffers.
#pragma once

#include <map>

#include "kernel/kernel.h"

namespace tokamak::kir {

/// Byte offsets of the shared buffers in dynamic shared memory.
struct SharedMemory {
  std::map<const TensorView*, Scalar*, ById> offsets;
  Scalar* bytes = nullptr;  ///< of dynamic shared memory; null: buffers are static, for which there are 48 KiB
};

/// Dynamic shared memory is used for many bytes, or for a number that only a launch knows. For few bytes buffers are
/// static, and there are no offsets. Makes scalars in the kernel's fusion.
SharedMemory sharedMemoryOf(const Kernel& kernel);

/// The bytes of dynamic shared memory of a launch. Makes no scalars, so several threads may prepare launches of one
/// kernel.
int64_t launchedSharedBytes(const Kernel& kernel, const ScalarBindings& bindings);

}  // namespace tokamak::kir
