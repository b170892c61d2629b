// PackedSteps: a plan's steps with their values and kernel arguments, packed once and patched for each call.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/replay.h"
#include "runtime/cuda/cuda_work.h"

namespace tokamak {

/// One step. Its values do not move in memory, as arguments point to them.
struct PackedStep {
  ReplayStep::Action action = ReplayStep::Action::Launch;
  int32_t stream = 0;
  int32_t event = -1;
  int64_t bytes = 0;
  std::span<void*> values;
  const CudaWork* work = nullptr;
  CudaKernelLaunch kernel;            ///< of works that are one kernel; else none
  std::vector<void*> arguments;       ///< of the kernel
  void* workspace = nullptr;          ///< of the kernel, on the stream that it is ready on
  driver::Stream ready_on = nullptr;  ///< where the work has been made ready, if it is
  bool is_ready = false;
  bool is_changed = false;  ///< values were patched since takeChanges()
  bool is_moved = false;    ///< ... by the last patch

  /// The work may be issued there from now on. Not with a queue's lock held.
  void makeReady(DriverContext& context, driver::Stream on);
  /// Tells the driver. The context is current. Errors: Device.
  void enqueue(DriverContext& context, driver::Stream on);
};

class PackedSteps {
 public:
  explicit PackedSteps(ReplaySteps list);

  /// Writes what has changed into the steps' values.
  void patch(std::span<void* const> bases, std::span<void* const> parameters);

  std::vector<PackedStep>& steps() { return steps_; }
  const std::vector<PackedStep>& steps() const { return steps_; }
  /// Which steps pass other values than at the last takeChanges().
  std::span<const uint32_t> changed() const { return changed_; }
  void takeChanges();
  int32_t streamCount() const { return list_.stream_count; }
  int32_t eventCount() const { return list_.event_count; }
  /// On the host's heap, by estimate.
  int64_t hostBytes() const;

 private:
  // A value that depends on a buffer or a parameter.
  struct Use {
    uint32_t slot = 0;
    uint32_t step = 0;
    int64_t offset = 0;
  };
  /// What buffers or parameters are now, from that one on.
  void patch(size_t first_source, std::span<void* const> values);
  void markMoved(uint32_t number);

  ReplaySteps list_;
  std::vector<void*> values_;  // as list_.slots
  std::vector<PackedStep> steps_;
  std::vector<Use> uses_;          // of every buffer, then of every parameter
  std::vector<size_t> first_use_;  // of each of them, and the end
  std::vector<void*> known_;       // what they were
  std::vector<uint32_t> changed_;
  std::vector<uint32_t> moved_;
  bool is_fresh_ = true;
};

}  // namespace tokamak
