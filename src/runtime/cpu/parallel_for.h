// ParallelFor: a caller's threads, for the blocks of the processor's kernels.
#pragma once

#include <cstdint>

#include "base/export.h"

namespace tokamak {

/// Thread safety: run() is called on threads of the device's streams, and on those of callers where
/// CompileOptions::runs_on_callers_thread says so; side by side for several streams, under no lock of the library.
/// Bodies do not call it. It may not call the library, which may wait for the very work that it belongs to.
class TOKAMAK_EXPORT ParallelFor {
 public:
  using Body = void (*)(void* context, int64_t part);

  virtual ~ParallelFor();
  /// Calls body(context, part) once for each 0 <= part < parts, in any order, on any threads, the calling one among
  /// them or not, and returns when all have ended. Bodies raise nothing here: the library carries what they raise. What
  /// run() raises, when no body runs any more, becomes the failure of the work, as if a kernel had failed.
  virtual void run(int64_t parts, Body body, void* context) = 0;
};

}  // namespace tokamak
