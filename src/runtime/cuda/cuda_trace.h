// CudaTrace: when the GPU did what. Its times come from CUPTI where that can be used, else from events of the driver.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/trace.h"
#include "runtime/cuda/driver_context.h"

namespace tokamak {

/// What is told of streams is kept until report(). Thread-safe. The context is current wherever the driver is told of
/// work.
class CudaTrace {
 public:
  /// Tells the driver of work.
  using Tell = std::function<void()>;

  /// `observer` outlives the trace. Errors: Device.
  static std::unique_ptr<CudaTrace> start(std::shared_ptr<DriverContext> context, TraceObserver& observer);
  CudaTrace() = default;
  CudaTrace(const CudaTrace&) = delete;
  CudaTrace& operator=(const CudaTrace&) = delete;
  virtual ~CudaTrace() = default;

  /// Calls `tell`, which tells the driver of work on the stream. The stream lives as long as the trace.
  virtual void span(int64_t track, driver::Stream stream, std::string_view name, const Tell& tell) = 0;
  /// Others may wait for what the stream does next.
  virtual void flowBegin(int64_t track, driver::Stream stream, uint64_t flow) = 0;
  /// As span(), for a wait.
  virtual void flowEnd(int64_t track, driver::Stream stream, uint64_t flow, const Tell& tell) = 0;
  /// Waits for all of it, tells the observer, and forgets it. Errors: Device.
  virtual void report() = 0;

  /// Where the times come from, in words: "CUPTI 130001", or "the driver's events" and why.
  virtual std::string describe() const = 0;
};

}  // namespace tokamak
