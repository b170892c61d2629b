// OutputAllocator: a caller's pool, for the outputs that he does not give himself.
#pragma once

#include <cstdint>

#include "base/export.h"
#include "device/device.h"
#include "device/memory_block.h"

namespace tokamak {

/// A caller's memory for outputs.
/// Thread safety: allocate() is called on the thread that calls run(), under no lock of the library; calls of several
/// threads ask side by side. Keepers are let go on any thread. Neither may call run() of the same program.
class TOKAMAK_EXPORT OutputAllocator {
 public:
  /// The keeper is let go with the last tensor that lies there.
  using Block = MemoryBlock;
  virtual ~OutputAllocator();
  /// Memory for work on `stream` from now on. On the processor the keeper is let go when the calls that use the memory
  /// are done, too, by a later call or when the program goes. On a GPU work on `stream` may still use it then, so that
  /// only later work of the same stream (Stream::nativeHandle()), or what waits for it, may get it next, as with
  /// Device::release(). What this raises, the call raises, before anything of it runs; after OutOfMemory it is tried
  /// once more where the program had memory that it could let go of.
  virtual Block allocate(int64_t bytes, MemoryKind kind, Stream& stream) = 0;
};

}  // namespace tokamak
