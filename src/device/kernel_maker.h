// KernelMaker: where a device gets its kernels from: a compiler (jit/), or a file that has them.
#pragma once

#include "device/device.h"
#include "device/kernel_launch.h"
#include "device/work.h"

namespace tokamak {

/// Belongs to one device.
/// Thread safety: any threads may ask side by side, for ops of one fusion one at a time.
class KernelMaker {
 public:
  KernelMaker() = default;
  KernelMaker(const KernelMaker&) = delete;
  KernelMaker& operator=(const KernelMaker&) = delete;
  virtual ~KernelMaker() = default;

  /// Whether there are kernels at all. May look for a compiler. Errors: Unsupported where there have to be.
  virtual bool makesKernels() { return true; }
  /// The kernel of a segment or an op for these operands, or the one that the program brings. It may still be compiled
  /// when this returns.
  /// Errors: Schedule or Unsupported when it cannot be one kernel; Bind, also where a launch does not fit its kernel;
  /// Compile.
  virtual KernelLaunch find(const WorkRequest& request) = 0;
};

}  // namespace tokamak
