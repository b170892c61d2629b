// GpuActivity: the GPU's times of work that was issued under a label, from CUPTI's activity records.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/cupti_library.h"

namespace tokamak {

/// One kernel, copy or fill. Work of one label may be several.
struct GpuActivity {
  uint64_t label = 0;
  int64_t begin_ns = 0;  ///< as traceNow()
  int64_t end_ns = 0;
};

/// CUPTI records the whole process, so all timelines share one recorder, with labels of their own. Thread-safe.
class GpuActivityRecorder {
 public:
  /// Records until the last reference ends. Errors: Unsupported without a usable CUPTI, with the reason.
  static std::shared_ptr<GpuActivityRecorder> start();
  GpuActivityRecorder(const GpuActivityRecorder&) = delete;
  GpuActivityRecorder& operator=(const GpuActivityRecorder&) = delete;
  ~GpuActivityRecorder();

  /// The first of 2^32 unused labels.
  uint64_t takeLabels();
  /// Labels work that this thread issues from here on, until dropLabel(). Errors: Device.
  void setLabel(uint64_t label);
  void dropLabel();
  /// Nanoseconds of traceNow(), by the clock that times the GPU.
  int64_t now() const;

  /// New activities with labels from `first` on (from takeLabels()), in no order. All work of synchronized streams is
  /// among them. Errors: Device.
  std::vector<GpuActivity> collect(uint64_t first);

  /// "CUPTI 130001".
  std::string describe() const;

 private:
  explicit GpuActivityRecorder(const CuptiLibrary& library);
  void enableAll();
  void disableAll();

  const CuptiLibrary& library_;
  int64_t clock_offset_ns_ = 0;  // traceNow() less CUPTI's clock
};

}  // namespace tokamak
