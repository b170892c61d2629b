#include "runtime/cuda/event_trace.h"

#include <utility>

namespace tokamak {

EventTrace::EventTrace(std::shared_ptr<DriverContext> context, TraceObserver& observer, std::string reason)
    : context_(std::move(context)), observer_(observer), reason_(std::move(reason)) {
  const CurrentContext current(*context_);
  driver::Stream stream = nullptr;
  context_->check(context_->driver().stream_create(&stream, driver::kStreamNonBlocking), "making a timeline's stream");
  start_ = stamp(stream);
  context_->check(context_->driver().event_synchronize(start_), "waiting for the beginning of a timeline");
  start_ns_ = traceNow();
  context_->driver().stream_destroy(stream);
}

EventTrace::~EventTrace() {
  forget();
  context_->quietly([&](const DriverLibrary& driver) { driver.event_destroy(start_); });
}

driver::Event EventTrace::stamp(driver::Stream stream) {
  driver::Event event = nullptr;
  context_->check(context_->driver().event_create(&event, driver::kEventTiming), "making an event of a timeline");
  context_->check(context_->driver().event_record(event, stream), "recording an event of a timeline");
  return event;
}

void EventTrace::keep(Entry entry) {
  const std::lock_guard lock(mutex_);
  entries_.push_back(std::move(entry));
}

void EventTrace::span(int64_t track, driver::Stream stream, std::string_view name, const Tell& tell) {
  const driver::Event begin = stamp(stream);
  tell();
  keep({.kind = Kind::Span, .track = track, .name = std::string(name), .begin = begin, .end = stamp(stream)});
}

void EventTrace::flowBegin(int64_t track, driver::Stream stream, uint64_t flow) {
  const driver::Event at = stamp(stream);
  keep({.kind = Kind::FlowBegin, .track = track, .flow = flow, .begin = at, .end = at});
}

void EventTrace::flowEnd(int64_t track, driver::Stream stream, uint64_t flow, const Tell& tell) {
  const driver::Event begin = stamp(stream);
  tell();
  keep({.kind = Kind::FlowEnd, .track = track, .name = "wait", .flow = flow, .begin = begin, .end = stamp(stream)});
}

std::string EventTrace::describe() const { return "the driver's events (" + reason_ + ")"; }

int64_t EventTrace::timeOf(driver::Event event) {
  context_->check(context_->driver().event_synchronize(event), "waiting for an event of a timeline");
  float milliseconds = 0;
  context_->check(context_->driver().event_elapsed(&milliseconds, start_, event), "reading an event of a timeline");
  return start_ns_ + static_cast<int64_t>(1e6 * static_cast<double>(milliseconds));
}

void EventTrace::report() {
  const CurrentContext current(*context_);
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    const int64_t begin = timeOf(entry.begin);
    const int64_t end = timeOf(entry.end);
    if (entry.kind == Kind::FlowBegin) {
      observer_.flowBegin(entry.track, entry.flow, begin);
      continue;
    }
    observer_.span(entry.track, entry.name, begin, end);
    if (entry.kind == Kind::FlowEnd) observer_.flowEnd(entry.track, entry.flow, end);
  }
  forget();
}

void EventTrace::forget() {
  context_->quietly([&](const DriverLibrary& driver) {
    for (const Entry& entry : entries_) {
      driver.event_destroy(entry.begin);
      if (entry.end != entry.begin) driver.event_destroy(entry.end);
    }
  });
  entries_.clear();
}

}  // namespace tokamak
