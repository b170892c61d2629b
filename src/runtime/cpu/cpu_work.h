// Work for the CPU device.
#pragma once

#include <exception>

#include "device/device.h"
#include "device/work.h"
#include "runtime/cpu/block_pool.h"

namespace tokamak {

/// Runs on a stream's thread, and on the pool's threads in `pool.parallelFor`. Its exceptions become failures of the
/// stream.
class CpuWork : public Work {
 public:
  /// `addresses`: one per operand, in the order in which the work was prepared.
  virtual void run(void* const* addresses, BlockPool& pool) const = 0;
  /// Called in the place of run() where the stream skips work because of this failure: for works that others wait for
  /// who do not wait for the stream, as the ranks that a communication meets.
  virtual void skip(const std::exception_ptr& /*cause*/) const noexcept {}
  /// Called by the thread that launches the work, before the stream knows of it: for works that keep a log.
  virtual void notePosted() const noexcept {}
};

}  // namespace tokamak
