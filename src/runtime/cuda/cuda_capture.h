// CudaCapture: a caller's capture of a stream, for calls that become part of it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "device/capture.h"
#include "device/device.h"
#include "runtime/cuda/capture_lanes.h"
#include "runtime/cuda/driver_context.h"

namespace tokamak {

/// Resources of destroyed graphs. The driver reports destruction on a thread that may not call it, so the next call of
/// the device releases them.
class CaptureRemains {
 public:
  /// A graph retains resources: `add` will follow.
  void expect();
  void add(std::shared_ptr<void> used);
  void letGo();
  /// For the device's end: waits at most a second for resources of destroyed graphs, and releases them. Those of living
  /// graphs, which are a caller's error then, are never freed.
  void close();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<void>> used_;
  int64_t expected_ = 0;
  bool is_closed_ = false;
};

class CudaCapture final : public Capture {
 public:
  CudaCapture(DriverContext& context, driver::Graph graph, std::shared_ptr<CaptureRemains> remains)
      : relaxed_(context.driver()), context_(context), graph_(graph), remains_(std::move(remains)) {}
  /// Errors: Device.
  void keep(std::shared_ptr<void> used) override;

 private:
  RelaxedCapture relaxed_;
  DriverContext& context_;
  driver::Graph graph_;
  std::shared_ptr<CaptureRemains> remains_;
};

}  // namespace tokamak
