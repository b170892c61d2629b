// EventTrace: when the GPU did what, by events of the driver around each piece of work.
#pragma once

#include <mutex>
#include <vector>

#include "runtime/cuda/cuda_trace.h"

namespace tokamak {

class EventTrace final : public CudaTrace {
 public:
  /// `reason`: why nothing better is used. Errors: Device.
  EventTrace(std::shared_ptr<DriverContext> context, TraceObserver& observer, std::string reason);
  ~EventTrace() override;

  /// From the end of what stands before it.
  void span(int64_t track, driver::Stream stream, std::string_view name, const Tell& tell) override;
  void flowBegin(int64_t track, driver::Stream stream, uint64_t flow) override;
  void flowEnd(int64_t track, driver::Stream stream, uint64_t flow, const Tell& tell) override;
  void report() override;
  std::string describe() const override;

 private:
  enum class Kind : uint8_t { Span, FlowBegin, FlowEnd };
  struct Entry {
    Kind kind = Kind::Span;
    int64_t track = 0;
    std::string name = {};
    uint64_t flow = 0;
    driver::Event begin = nullptr;
    driver::Event end = nullptr;
  };

  driver::Event stamp(driver::Stream stream);
  void keep(Entry entry);
  int64_t timeOf(driver::Event event);
  void forget();

  std::shared_ptr<DriverContext> context_;
  TraceObserver& observer_;
  const std::string reason_;
  driver::Event start_ = nullptr;
  int64_t start_ns_ = 0;
  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace tokamak
