// IntermediateAllocator: a caller's pool, for what a program computes on the way.
#pragma once

#include <cstdint>

#include "base/export.h"
#include "device/device.h"
#include "device/memory_block.h"

namespace tokamak {

/// A caller's memory for intermediates. A program has up to CompileOptions::calls_in_flight contexts, each with one
/// piece of memory per kind, which calls use one after the other and which grows with the largest plan.
/// Thread safety: allocate() is called on the thread that calls run() or runInto(), under no lock of the library: never
/// twice at a time for one context, but side by side for several contexts and programs. Keepers are let go on the
/// thread of a call, or on the one that destroys the program, on any thread where a CUDA graph holds them; never while
/// that context asks. Neither may call run() of the same program.
class TOKAMAK_EXPORT IntermediateAllocator {
 public:
  using Block = MemoryBlock;
  virtual ~IntermediateAllocator();
  /// Memory for work on `stream`, the context's own, from now on; on other streams the library orders its use. On
  /// the processor the keeper is let go when nothing uses the memory any more. On a GPU work on `stream` may still use
  /// it then, so that only later work of the same stream (Stream::nativeHandle()), or what waits for it, may get it
  /// next, as with Device::release(). What this raises, the call raises, before anything
  /// of it runs; after OutOfMemory it is tried once more when the program has let go of what it holds.
  virtual Block allocate(int64_t bytes, MemoryKind kind, Stream& stream) = 0;
};

}  // namespace tokamak
