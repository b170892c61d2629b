// StepOrder: the happens-before order of a StepList, by vector clocks that advance in list order.
#pragma once

#include <cstdint>
#include <vector>

#include "host/check/step_list.h"

namespace tokamak {

/// A moment of an executor. Streams are executors 0 .. stream_count - 1, and each posted communication is one.
struct StepPoint {
  int32_t executor = 0;
  uint32_t clock = 0;
};

/// Takes steps in list order, and tells what happens before the latest one. Edges: the order of a stream, record to
/// wait, post to communication, communication to join.
class StepOrder {
 public:
  explicit StepOrder(const StepList& list);

  /// The point of the caller's accesses before the program: on stream 0, before all steps.
  static StepPoint entry() { return {0, 1}; }
  /// Takes the next step in list order; the step's accesses happen at the point returned.
  StepPoint take(const Step& step);
  /// Takes the program's exit, a step on stream 0.
  StepPoint takeExit();

  /// Whether `earlier` happens before the latest step.
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
