// ActivityTrace: when the GPU did what, by CUPTI: the times of kernels, copies and fills themselves.
#pragma once

#include <mutex>
#include <set>
#include <vector>

#include "runtime/cuda/activity_timeline.h"
#include "runtime/cuda/cuda_trace.h"

namespace tokamak {

class ActivityTrace final : public CudaTrace {
 public:
  /// Errors: Unsupported where there is no CUPTI that can be used.
  ActivityTrace(std::shared_ptr<DriverContext> context, TraceObserver& observer);

  void span(int64_t track, driver::Stream stream, std::string_view name, const Tell& tell) override;
  void flowBegin(int64_t track, driver::Stream stream, uint64_t flow) override;
  void flowEnd(int64_t track, driver::Stream stream, uint64_t flow, const Tell& tell) override;
  void report() override;
  std::string describe() const override { return recorder_->describe(); }

 private:
  uint64_t keep(StreamEntry entry, driver::Stream stream);

  std::shared_ptr<DriverContext> context_;
  TraceObserver& observer_;
  std::shared_ptr<GpuActivityRecorder> recorder_;
  const uint64_t first_label_;
  std::mutex mutex_;  // guards all below
  uint64_t next_label_;
  std::set<driver::Stream> streams_;
  std::vector<StreamEntry> entries_;
  ActivityTimeline timeline_;
};

}  // namespace tokamak
