// CudaTrace: when the GPU did what, by events of the driver around each piece of work.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/trace.h"
#include "runtime/cuda/driver_context.h"

namespace tokamak {

/// What is told of streams is kept until report(). Thread-safe. The context is current wherever the driver is told of work.
class CudaTrace {
 public:
  /// Errors: Device.
  CudaTrace(std::shared_ptr<DriverContext> context, TraceObserver& observer);
  CudaTrace(const CudaTrace&) = delete;
  CudaTrace& operator=(const CudaTrace&) = delete;
  ~CudaTrace();

  void nameTrack(int64_t track, std::string_view name) { observer_.nameTrack(track, name); }

  /// `tell` tells the driver of work on the stream: a span from the end of what stands before it.
  template <class Tell>
  void span(int64_t track, driver::Stream stream, std::string_view name, const Tell& tell) {
    const driver::Event begin = stamp(stream);
    tell();
    keep({.kind = Kind::Span, .track = track, .name = std::string(name), .begin = begin, .end = stamp(stream)});
  }
  /// Others may wait for what the stream does next.
  void flowBegin(int64_t track, driver::Stream stream, uint64_t flow);
  /// As span(), for a wait.
  template <class Tell>
  void flowEnd(int64_t track, driver::Stream stream, uint64_t flow, const Tell& tell) {
    const driver::Event begin = stamp(stream);
    tell();
    keep({.kind = Kind::FlowEnd, .track = track, .name = "wait", .flow = flow, .begin = begin, .end = stamp(stream)});
  }

  /// Waits for all of it, tells the observer, and forgets it. Errors: Device.
  void report();

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
  driver::Event start_ = nullptr;
  int64_t start_ns_ = 0;
  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace tokamak
