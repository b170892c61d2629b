// StepOrder: which steps of a StepList happen before which, by vector clocks advanced in list order.
#pragma once

#include <cstdint>
#include <vector>

#include "host/check/step_list.h"

namespace tokamak {

/// A moment of an in-order executor. Streams are executors 0 .. stream_count - 1, each posted communication is one of
/// its own.
struct StepPoint {
  int32_t executor = 0;
  uint32_t clock = 0;
};

/// Walks a list of steps and knows, for the step taken last, what has certainly finished before it. Edges: the order of
/// a stream, record to wait, post to communication, communication to join.
class StepOrder {
 public:
  explicit StepOrder(const StepList& list);

  /// Where the caller's accesses before the program happen: on stream 0, before all steps.
  static StepPoint entry() { return {0, 1}; }
  /// Takes the next step in list order; the step's accesses happen at the point returned.
  StepPoint take(const Step& step);
  /// Takes a step without effect on stream 0: the program's exit.
  StepPoint takeExit();

  /// Whether `earlier` has finished before the step taken last starts.
  bool isBeforeLatest(StepPoint earlier) const {
    const auto executor = static_cast<size_t>(earlier.executor);
    return executor < latest_->size() && earlier.clock <= (*latest_)[executor];
  }

 private:
  using Clock = std::vector<uint32_t>;  // per executor; missing entries are 0

  static void join(Clock& into, const Clock& other);

  std::vector<Clock> streams_;
  std::vector<Clock> recorded_;         // per event; empty: never recorded
  std::vector<Clock> communications_;   // per post
  std::vector<int32_t> communication_;  // per event: its last post, or -1
  const Clock* latest_ = nullptr;
};

}  // namespace tokamak
