#include "runtime/cuda/capture_lanes.h"

#include <utility>

namespace tokamak {

StreamPool::~StreamPool() {
  context_->quietly([&](const DriverLibrary& driver) {
    for (const driver::Stream stream : idle_) driver.stream_destroy(stream);
  });
}

driver::Stream StreamPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      const driver::Stream stream = idle_.back();
      idle_.pop_back();
      return stream;
    }
  }
  driver::Stream stream = nullptr;
  const CurrentContext current(*context_);
  context_->check(context_->driver().stream_create(&stream, driver::kStreamNonBlocking), "{}: creating a stream",
                  context_->name());
  return stream;
}

void StreamPool::giveBack(driver::Stream stream) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(stream);
}

CaptureLanes::CaptureLanes(std::shared_ptr<StreamPool> pool, int32_t stream_count, int32_t event_count)
    : pool_(std::move(pool)),
      context_(pool_->context().get()),
      streams_(static_cast<size_t>(stream_count), nullptr),
      events_(static_cast<size_t>(event_count) + 1, nullptr) {
  for (driver::Stream& stream : streams_) stream = pool_->take();
  const CurrentContext current(*context_);
  for (driver::Event& event : events_)
    context_->check(context_->driver().event_create(&event, driver::kEventDisableTiming), "{}: creating an event",
                    context_->name());
}

CaptureLanes::~CaptureLanes() {
  for (const driver::Stream stream : streams_) {
    if (!is_capturing_) pool_->giveBack(stream);
  }
  context_->quietly([&](const DriverLibrary& driver) {
    for (const driver::Event event : events_)
      if (event != nullptr) driver.event_destroy(event);
    for (const driver::Stream stream : streams_)
      if (is_capturing_) driver.stream_destroy(stream);
  });
}

void CaptureLanes::makeReady(PackedSteps& packed) {
  for (PackedStep& step : packed.steps())
    if (step.action == ReplayStep::Action::Launch) step.makeReady(*context_, lane(step));
  for (const driver::Stream stream : streams_)
    context_->check(context_->driver().stream_synchronize(stream), "{}: waiting for a stream", context_->name());
}

void CaptureLanes::order(driver::Stream before, driver::Stream after, driver::Event event) {
  const DriverLibrary& driver = context_->driver();
  context_->check(driver.event_record(event, before), "{}: capturing an event", context_->name());
  context_->check(driver.stream_wait_event(after, event, 0), "{}: capturing a wait", context_->name());
}

driver::GraphNode CaptureLanes::lastNode(driver::Stream stream) const {
  int status = 0;
  uint64_t id = 0;
  driver::Graph graph = nullptr;
  const driver::GraphNode* nodes = nullptr;
  size_t count = 0;
  const driver::Result result = context_->driver().capture_info(stream, &status, &id, &graph, &nodes, &count);
  return result == driver::kSuccess && count == 1 ? nodes[0] : nullptr;
}

std::vector<driver::GraphNode> CaptureLanes::capture(PackedSteps& packed, driver::Stream origin) {
  const DriverLibrary& driver = context_->driver();
  std::vector<driver::GraphNode> nodes(packed.steps().size(), nullptr);
  std::vector<bool> is_recorded(events_.size(), false);
  is_capturing_ = true;
  for (const driver::Stream stream : streams_) order(origin, stream, events_.back());
  for (size_t i = 0; i < nodes.size(); ++i) {
    PackedStep& step = packed.steps()[i];
    const driver::Stream stream = lane(step);
    const auto event = static_cast<size_t>(step.event);
    using Action = ReplayStep::Action;
    switch (step.action) {
      case Action::Launch:
        step.makeReady(*context_, stream);
        step.enqueue(*context_, stream);
        if (step.kernel.kernel != nullptr && step.kernel.kernel->hasBlocks()) nodes[i] = lastNode(stream);
        break;
      case Action::Fill:
        context_->check(driver.fill_async(addressOf(step.values[0]), 0, static_cast<size_t>(step.bytes), stream),
                        "{}: filling {} bytes at {}", context_->name(), step.bytes, step.values[0]);
        break;
      case Action::Record:
        context_->check(driver.event_record(events_[event], stream), "{}: capturing an event", context_->name());
        is_recorded[event] = true;
        break;
      case Action::Wait:
        if (!is_recorded[event]) break;
        context_->check(driver.stream_wait_event(stream, events_[event], 0), "{}: capturing a wait", context_->name());
        break;
    }
  }
  for (const driver::Stream stream : streams_) order(stream, origin, events_.back());
  is_capturing_ = false;
  return nodes;
}

}  // namespace tokamak
