// WorkObserver: is told of each piece of work that a device runs, while somebody measures.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace tokamak {

/// A launch, a copy or a fill that has run.
struct WorkSpan {
  int64_t stream = 0;     ///< the device's number for it
  std::string_view name;  ///< valid during the call only
  int64_t bytes = 0;      ///< of all operands, each element once
  int64_t begin_ns = 0;   ///< of the steady clock, as traceNow()
  int64_t end_ns = 0;
};

/// Told of work as it is done.
/// Thread safety: its function is called from many threads side by side and has to bear that.
class WorkObserver {
 public:
  virtual ~WorkObserver() = default;
  virtual void onWork(const WorkSpan& span) noexcept = 0;
};

/// Who observes a device's work; null: nobody. Whoever was set lives as long as the device.
using WorkObserverSlot = std::atomic<WorkObserver*>;

}  // namespace tokamak
