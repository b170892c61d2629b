// OutputAllocator: a caller's pool, for the outputs that he does not give himself.
#pragma once

#include <cstdint>
#include <memory>

#include "base/export.h"
#include "device/device.h"

namespace tokamak {

/// A caller's memory for outputs.
/// Thread safety: calls of several threads ask side by side, and keepers are let go on any thread: both have to bear
/// that.
class TOKAMAK_EXPORT OutputAllocator {
 public:
  struct Block {
    void* address = nullptr;       ///< a multiple of 256 bytes; not null, also for no bytes
    std::shared_ptr<void> keeper;  ///< let go with the last tensor that lies there
  };
  virtual ~OutputAllocator();
  /// Memory for work on `stream` from now on. The keeper may be let go while work on `stream` still uses the memory, so
  /// that only later work of the same stream, or what waits for it, may get it next, as with Device::release(). What
  /// this raises, the call raises, before anything of it runs.
  virtual Block allocate(int64_t bytes, MemoryKind kind, Stream& stream) = 0;
};

}  // namespace tokamak
