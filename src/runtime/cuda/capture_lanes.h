// CaptureLanes: separate streams and events for capturing a plan's steps into a graph.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/cuda/driver_context.h"
#include "runtime/cuda/packed_steps.h"

namespace tokamak {

/// A pool of streams. Works' memory for a stream serves its next user. Thread-safe.
class StreamPool {
 public:
  explicit StreamPool(std::shared_ptr<DriverContext> context) : context_(std::move(context)) {}
  StreamPool(const StreamPool&) = delete;
  StreamPool& operator=(const StreamPool&) = delete;
  ~StreamPool();
  /// Errors: Device, OutOfMemory.
  driver::Stream take();
  void giveBack(driver::Stream stream);
  const std::shared_ptr<DriverContext>& context() const { return context_; }

 private:
  std::shared_ptr<DriverContext> context_;
  std::mutex mutex_;
  std::vector<driver::Stream> idle_;
};

/// A lane per stream of the plan. Works have their per-stream memory (workspaces) per lane, so that a graph shares
/// nothing with other launches. One capture at a time.
class CaptureLanes {
 public:
  /// Errors: Device, OutOfMemory.
  CaptureLanes(std::shared_ptr<StreamPool> pool, int32_t stream_count, int32_t event_count);
  CaptureLanes(const CaptureLanes&) = delete;
  CaptureLanes& operator=(const CaptureLanes&) = delete;
  ~CaptureLanes();

  /// Makes the steps' works ready on the lanes, and waits for that. Before the capture; the context is current.
  void makeReady(PackedSteps& packed);
  /// Captures the steps after the work so far of `origin`, which is being captured; later work there waits for them.
  /// Returns the graph's node of every step that is one kernel, else null. The context is current. Errors: Device.
  std::vector<driver::GraphNode> capture(PackedSteps& packed, driver::Stream origin);
  driver::Stream lane(const PackedStep& step) const { return streams_[static_cast<size_t>(step.stream)]; }

 private:
  void order(driver::Stream before, driver::Stream after, driver::Event event);
  driver::GraphNode lastNode(driver::Stream stream) const;

  std::shared_ptr<StreamPool> pool_;
  DriverContext* context_;
  bool is_capturing_ = false;  // since a capture failed
  std::vector<driver::Stream> streams_;
  std::vector<driver::Event> events_;  // the plan's, then one to fork and join with
};

/// While it lives, this thread may make calls that captures forbid by default (allocations, event queries).
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const DriverLibrary& driver) : driver_(driver) { driver_.capture_mode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture() { driver_.capture_mode(&mode_); }

 private:
  const DriverLibrary& driver_;
  int mode_ = driver::kCaptureRelaxed;
};

}  // namespace tokamak
