#include "device/in_flight_calls.h"

#include <utility>

namespace tokamak {

InFlightCalls::Sequence::Sequence(InFlightCalls& all) : all_(all) {
  const std::lock_guard lock(all_.mutex_);
  all_.sequences_.push_back(this);
}

InFlightCalls::Sequence::~Sequence() {
  const std::lock_guard lock(all_.mutex_);
  std::erase(all_.sequences_, this);
  all_.count_ -= std::ssize(calls_);
}

void InFlightCalls::Sequence::add(Call call) {
  std::vector<Call> done;
  const std::lock_guard lock(all_.mutex_);
  takeDone(done);
  calls_.push_back(std::move(call));
  ++all_.count_;
}

void InFlightCalls::Sequence::takeDone(std::vector<Call>& taken) {
  while (!calls_.empty() && all_.device_.isDone(*calls_.front().done)) {
    taken.push_back(std::move(calls_.front()));
    calls_.pop_front();
    --all_.count_;
  }
}

void InFlightCalls::Sequence::waitUntilDone() const {
  std::vector<std::shared_ptr<Event>> events;
  {
    const std::lock_guard lock(all_.mutex_);
    for (const Call& call : calls_) events.push_back(call.done);
  }
  for (const std::shared_ptr<Event>& event : events) all_.device_.waitDone(*event);
}

bool InFlightCalls::Sequence::letGoOfAll() {
  std::deque<Call> all;
  const std::lock_guard lock(all_.mutex_);
  all_.count_ -= std::ssize(calls_);
  all.swap(calls_);
  return !all.empty();
}

void InFlightCalls::letGo() {
  std::vector<Call> done;
  const std::lock_guard lock(mutex_);
  for (Sequence* sequence : sequences_) sequence->takeDone(done);
}

}  // namespace tokamak
