// ActivityTimeline: a timeline from the streams' work in order, and the GPU's times.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/trace.h"
#include "device/work.h"
#include "runtime/cuda/gpu_activity.h"

namespace tokamak {

/// An entry of a stream.
struct StreamEntry {
  enum class Kind : uint8_t {
    Work,   ///< kernels, copies and fills: what the GPU ran under `label`
    Point,  ///< others may wait for what the stream was given so far; `flow` names it
    Wait,   ///< for the point `flow`
  };
  Kind kind = Kind::Work;
  int64_t track = 0;
  std::string name = {};
  uint64_t label = 0;
  uint64_t flow = 0;
  int64_t issued_ns = 0;  ///< of a wait: when the driver was told
};

/// Work has the GPU's times. A point is reached when the work before it ends. A wait lasts from the end of the work
/// before it (or from its issue, if later) until the point is reached, but at most until the next work.
/// With programmatic dependent launches a kernel may start before the one before has ended: it is shown from that end
/// on, so that spans of a track do not overlap.
class ActivityTimeline {
 public:
  /// Tells the observer; may be called again with what came later. `entries`: those of a track in the order in which it
  /// was given them, and points before the waits for them.
  void tell(std::span<const StreamEntry> entries, std::vector<GpuActivity> activities, TraceObserver& observer);

 private:
  void tellWork(const StreamEntry& entry, std::span<const GpuActivity> parts, TraceObserver& observer);
  void tellPoint(const StreamEntry& entry, TraceObserver& observer);
  void tellWait(const StreamEntry& entry, int64_t next_begin, TraceObserver& observer);

  std::map<int64_t, int64_t> last_end_;  // per track that has done something
  std::map<uint64_t, int64_t> reached_;  // per flow: when
};

}  // namespace tokamak
