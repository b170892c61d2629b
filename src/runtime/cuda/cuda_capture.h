// CudaCapture: what a caller captures of a stream of his, as calls that become part of it see it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "device/device.h"
#include "runtime/cuda/capture_lanes.h"
#include "runtime/cuda/driver_context.h"

namespace tokamak {

/// What graphs used that are gone. The driver says so on a thread that may not call it: whoever comes next lets go of
/// these things.
class CaptureRemains {
 public:
  /// A graph holds on to something: `add` will follow.
  void expect();
  void add(std::shared_ptr<void> used);
  void letGo();
  /// The device goes: waits a second at most for what graphs that are gone have held, and lets go of it. What living
  /// graphs hold, which a caller must not have then, is never freed.
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
