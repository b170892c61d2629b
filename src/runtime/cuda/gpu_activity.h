// GpuActivity: when the GPU ran what the driver was told under a label, by CUPTI's activity records.
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

/// CUPTI records for the whole process, and so there is one recorder, which all timelines share: each has labels of its
/// own. Thread-safe.
class GpuActivityRecorder {
 public:
  /// Recording goes on until the last one lets go. Errors: Unsupported where there is no CUPTI that can be used, with
  /// the reason.
  static std::shared_ptr<GpuActivityRecorder> start();
  GpuActivityRecorder(const GpuActivityRecorder&) = delete;
  GpuActivityRecorder& operator=(const GpuActivityRecorder&) = delete;
  ~GpuActivityRecorder();

  /// The first of 2^32 labels that nobody else has.
  uint64_t takeLabels();
  /// What this thread tells the driver from here on is work of `label`, until dropLabel(). Errors: Device.
  void setLabel(uint64_t label);
  void dropLabel();
  /// Nanoseconds of traceNow(), by the clock that times the GPU.
  int64_t now() const;

  /// What has run with labels from `first` on, which takeLabels() gave, and has not been collected before; in no order.
  /// Work that the streams have been waited for is among it. Errors: Device.
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
