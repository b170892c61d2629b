// Profile: what devices and calls did while it was on.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/trace.h"
#include "compile/program.h"
#include "device/device.h"
#include "report/run_record.h"

namespace tokamak::python {

/// Of a kernel, or of another kind of work, of one name and size.
struct WorkTotals {
  int64_t calls = 0;
  int64_t total_ns = 0;
  int64_t least_ns = 0;
  int64_t most_ns = 0;
  int64_t bytes = 0;  ///< of one call
};

/// Of the calls of a program.
struct CallTotals {
  int64_t calls = 0;
  int64_t total_ns = 0;  ///< from the beginning of a call to its end
  int64_t work_ns = 0;   ///< of this, work on a device; of a GPU none
};

/// Takes what all threads do from start() to stop(). Profiles nest and overlap: each has what happened while it was on.
/// Thread safety: any threads may use one side by side.
class Profile {
 public:
  /// Beyond `most_events` only totals are kept.
  explicit Profile(int64_t most_events) : most_events_(most_events) {}
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;
  ~Profile() { stop(); }

  void start();
  void stop();

  std::map<std::pair<std::string, int64_t>, WorkTotals> works() const;
  /// By the program's name and its number among those of the profile.
  std::map<std::pair<std::string, int64_t>, CallTotals> calls() const;
  /// Events that were not kept.
  int64_t dropped() const;
  /// As Chrome trace events.
  std::string traceJson() const { return timeline_.json(); }
  /// An SVG file.
  std::string picture(std::string_view name, std::string_view id_prefix) const;

 private:
  friend class ProfileHub;
  struct Span {
    int64_t track = 0;
    std::string_view name;
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
  };
  void addWork(std::string_view name, int64_t bytes, const Span& span);
  void addCall(const void* program, const CallTotals& call, const Span& span);
  void addEvent(const Span& span);

  const int64_t most_events_;
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int64_t>, WorkTotals> works_;
  std::map<const void*, int64_t> programs_;
  std::map<std::pair<std::string, int64_t>, CallTotals> calls_;
  int64_t events_ = 0;
  Timeline timeline_;
  RunRecord record_;  // the same, to be drawn
  std::map<int64_t, bool> named_tracks_;
};

/// Whose work profiles see, from now on.
void observeDevice(const std::shared_ptr<Device>& device);

/// For a forked process: nobody measures, and no call is under way.
void forgetProfilesOfParent();

/// A call while it lives; costs a load where nobody measures.
/// Thread safety: for one thread.
class MeasuredCall {
 public:
  /// `program` outlives it.
  explicit MeasuredCall(const Program& program) {
    if (is_on.load(std::memory_order_relaxed)) [[unlikely]]
      begin(program);
  }
  /// It was no call.
  void forget() {
    if (program_ != nullptr) [[unlikely]]
      leave();
  }
  MeasuredCall(const MeasuredCall&) = delete;
  MeasuredCall& operator=(const MeasuredCall&) = delete;
  ~MeasuredCall() {
    if (program_ != nullptr) [[unlikely]]
      end();
  }

 private:
  friend class ProfileHub;
  void begin(const Program& program);
  void end();
  void leave();

  static std::atomic<bool> is_on;

  const Program* program_ = nullptr;
  std::thread::id thread_;
  int64_t begin_ns_ = 0;
  int64_t work_ns_ = 0;
};

}  // namespace tokamak::python
