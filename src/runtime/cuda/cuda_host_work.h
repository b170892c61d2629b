// CudaHostWork: work of a CUDA stream whose end no event of the GPU tells: the stream's thread waits for it.
#pragma once

#include <exception>
#include <span>

#include "runtime/cuda/cuda_work.h"

namespace tokamak {

/// A communication, say: it waits for other ranks, may fail after it was given to the GPU, and is not skipped silently.
/// It runs behind all that its stream was told before; what the stream is told after it waits for its end on the host.
/// It is no part of graphs.
class CudaHostWork : public CudaWork {
 public:
  const CudaHostWork* hostWork() const final { return this; }
  /// On the stream's thread, with the context current: gives the driver work for the stream, and returns when that is
  /// over. What it raises is a failure of the stream.
  virtual void run(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const = 0;
  /// Called in the place of run() where the stream skips work because of this failure.
  virtual void skip(const std::exception_ptr& cause) const noexcept = 0;
  /// Called by the thread that launches the work, before the stream knows of it: for works that keep a log.
  virtual void notePosted() const noexcept {}

  /// Errors: Unsupported, for a stream that is captured.
  void makeReadyOn(DriverContext& context, driver::Stream stream) const override;
  /// Errors: Unsupported: only a capture gets here.
  void enqueue(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const final;
};

}  // namespace tokamak
