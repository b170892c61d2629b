#include "host/check/step_order.h"

#include <algorithm>

#include "device/work.h"

namespace tokamak {

StepOrder::StepOrder(const StepList& list)
    : streams_(static_cast<size_t>(list.stream_count), Clock(static_cast<size_t>(list.stream_count), 0)),
      recorded_(static_cast<size_t>(list.event_count)),
      communication_(static_cast<size_t>(list.event_count), -1) {
  // Clocks of communications are referred to while later ones are added.
  const auto posts =
      std::count_if(list.steps.begin(), list.steps.end(), [](const Step& step) { return step.kind == StepKind::Post; });
  communications_.reserve(static_cast<size_t>(posts));
  streams_[0][0] = entry().clock;
}

void StepOrder::join(Clock& into, const Clock& other) {
  if (into.size() < other.size()) into.resize(other.size(), 0);
  for (size_t executor = 0; executor < other.size(); ++executor) {
    into[executor] = std::max(into[executor], other[executor]);
  }
}

StepPoint StepOrder::take(const Step& step) {
  const auto stream = static_cast<size_t>(step.stream);
  const auto event = static_cast<size_t>(step.event);
  Clock& now = streams_[stream];
  const uint32_t clock = ++now[stream];
  latest_ = &now;
  switch (step.kind) {
    case StepKind::Work:
    case StepKind::Fill:
    case StepKind::Allocate:
    case StepKind::Release: break;
    case StepKind::Record: recorded_[event] = now; break;
    case StepKind::Wait: join(now, recorded_[event]); break;
    case StepKind::Join:
      if (communication_[event] >= 0) join(now, communications_[static_cast<size_t>(communication_[event])]);
      break;
    case StepKind::Post: {
      const size_t executor = streams_.size() + communications_.size();
      communication_[event] = static_cast<int32_t>(communications_.size());
      Clock& own = communications_.emplace_back(now);
      own.resize(executor + 1, 0);
      own[executor] = 1;
      latest_ = &own;
      return {static_cast<int32_t>(executor), 1};
    }
  }
  return {step.stream, clock};
}

StepPoint StepOrder::takeExit() {
  latest_ = &streams_[0];
  return {0, ++streams_[0][0]};
}

}  // namespace tokamak
