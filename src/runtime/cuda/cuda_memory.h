// CudaMemory: where a CUDA device's arenas get their blocks: the GPU's memory, pinned and pageable host memory.
#pragma once

#include "device/arena.h"
#include "runtime/cuda/driver_context.h"

namespace tokamak {

class CudaMemory final : public MemorySource {
 public:
  explicit CudaMemory(DriverContext& context) : context_(context) {}
  /// Null when the driver or the machine has no such memory left. Errors: Device.
  void* allocate(int64_t bytes, MemoryKind kind) override;
  /// The work that used the memory is done. What the driver objects to is left to the next call.
  void release(void* address, int64_t bytes, MemoryKind kind) override;

 private:
  DriverContext& context_;
};

}  // namespace tokamak
