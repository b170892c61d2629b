// CudaTrace: timelines of the GPU, with times from CUPTI, else from events of the driver.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/trace.h"
#include "runtime/cuda/driver_context.h"

namespace tokamak {

/// Keeps entries of streams until report(). Thread-safe. Callers have the context current.
class CudaTrace {
 public:
  /// Issues work to the driver.
  using Tell = std::function<void()>;

  /// `observer` outlives the trace. Errors: Device.
  static std::unique_ptr<CudaTrace> start(std::shared_ptr<DriverContext> context, TraceObserver& observer);
  CudaTrace() = default;
  CudaTrace(const CudaTrace&) = delete;
  CudaTrace& operator=(const CudaTrace&) = delete;
  virtual ~CudaTrace() = default;

  /// Calls `tell`, which issues work to the stream. The stream outlives the trace.
  virtual void span(int64_t track, driver::Stream stream, std::string_view name, const Tell& tell) = 0;
  /// A point that others may wait for.
  virtual void flowBegin(int64_t track, driver::Stream stream, uint64_t flow) = 0;
  /// As span(), for a wait.
  virtual void flowEnd(int64_t track, driver::Stream stream, uint64_t flow, const Tell& tell) = 0;
  /// Waits for all work, reports it to the observer, and clears it. Errors: Device.
  virtual void report() = 0;

  /// The source of the times: "CUPTI 130001", or "the driver's events" and why.
  virtual std::string describe() const = 0;
};

}  // namespace tokamak
