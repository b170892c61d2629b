// Run record: what a device says of its kernels and of a run, kept for a report.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/trace.h"
#include "device/kernel_observer.h"

namespace tokamak {

/// A kernel as texts.
struct KernelTexts {
  std::string name;
  std::string choice;    ///< what it was made for
  std::string schedule;  ///< the scheduled fusion
  std::string ir;        ///< kernel IR
  std::string source;    ///< C or CUDA; empty where the kernel is interpreted
};

/// Something that ran on a track.
struct RunSpan {
  int64_t track = 0;
  std::string name;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

/// Given to a device as its observer of kernels and of time. Outlives the device.
/// Thread safety: as its bases ask.
class RunRecord final : public KernelObserver, public TraceObserver {
 public:
  void onKernel(const Fusion& fusion, const std::string& kernel, const std::string& source) override;
  void onChoice(const KernelNews& news) override;
  void onNoCompiler(const std::string& reason) override;
  void span(int64_t track, std::string_view name, int64_t begin_ns, int64_t end_ns) noexcept override;
  void flowBegin(int64_t track, uint64_t flow, int64_t at_ns) noexcept override;
  void flowEnd(int64_t track, uint64_t flow, int64_t at_ns) noexcept override;
  void nameTrack(int64_t track, std::string_view name) noexcept override;

  /// Forgets what ran so far, not the kernels. Spans are kept up to endRun().
  void startRun();
  void endRun();

  /// In the order in which they were made.
  std::vector<KernelTexts> kernels() const;
  /// In order of their beginnings.
  std::vector<RunSpan> spans() const;
  std::map<int64_t, std::string> trackNames() const;
  /// Why there are no kernels; empty where there are.
  std::string reasonForNoKernels() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::thread::id, std::string> choices_;  // per thread the last one: it makes that kernel next
  std::vector<KernelTexts> kernels_;
  std::vector<RunSpan> spans_;
  std::map<int64_t, std::string> tracks_;
  std::string no_kernels_;
  bool is_running_ = false;
};

}  // namespace tokamak
