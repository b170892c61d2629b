#include "runtime/cuda/activity_trace.h"

#include <utility>

#include "device/work.h"

namespace tokamak {

namespace {

// While it lives, what this thread tells the driver is work of the label.
class Labelled {
 public:
  Labelled(GpuActivityRecorder& recorder, uint64_t label) : recorder_(recorder) { recorder_.setLabel(label); }
  Labelled(const Labelled&) = delete;
  Labelled& operator=(const Labelled&) = delete;
  ~Labelled() { recorder_.dropLabel(); }

 private:
  GpuActivityRecorder& recorder_;
};

}  // namespace

ActivityTrace::ActivityTrace(std::shared_ptr<DriverContext> context, TraceObserver& observer)
    : context_(std::move(context)),
      observer_(observer),
      recorder_(GpuActivityRecorder::start()),
      first_label_(recorder_->takeLabels()),
      next_label_(first_label_) {}

// Entries of one stream come one after the other: its queue tells the driver of one thing at a time.
uint64_t ActivityTrace::keep(StreamEntry entry, driver::Stream stream) {
  const std::lock_guard lock(mutex_);
  entry.label = next_label_++;
  streams_.insert(stream);
  return entries_.emplace_back(std::move(entry)).label;
}

void ActivityTrace::span(int64_t track, driver::Stream stream, std::string_view name, const Tell& tell) {
  const uint64_t label = keep({.kind = StreamEntry::Kind::Work, .track = track, .name = std::string(name)}, stream);
  const Labelled labelled(*recorder_, label);
  tell();
}

void ActivityTrace::flowBegin(int64_t track, driver::Stream stream, uint64_t flow) {
  keep({.kind = StreamEntry::Kind::Point, .track = track, .flow = flow}, stream);
}

void ActivityTrace::flowEnd(int64_t track, driver::Stream stream, uint64_t flow, const Tell& tell) {
  keep({.kind = StreamEntry::Kind::Wait, .track = track, .name = "wait", .flow = flow, .issued_ns = recorder_->now()},
       stream);
  tell();
}

void ActivityTrace::report() {
  const CurrentContext current(*context_);
  const std::lock_guard lock(mutex_);
  for (const driver::Stream stream : streams_)
    context_->check(context_->driver().stream_synchronize(stream), "{}: waiting for the end of a timeline",
                    context_->name());
  timeline_.tell(entries_, recorder_->collect(first_label_), observer_);
  entries_.clear();
}

}  // namespace tokamak
