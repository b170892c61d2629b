#include "host/run/call_context.h"

#include <utility>

#include "base/error.h"
#include "base/profiler_range.h"
#include "device/capture.h"
#include "device/work.h"
#include "host/run/given_block.h"

namespace tokamak {

CallContext::CallContext(Device& device, size_t index, int64_t worker_count, IntermediateAllocator* intermediates)
    : ordered(device),
      device_(device),
      index_(index),
      intermediates_(intermediates),
      home_(device.createStream()),
      workers_(std::make_shared<RunStreams>(device, worker_count)),
      in_flight_(device.inFlightCalls()) {}

CallContext::~CallContext() {
  const bool may_be_under_way = last_call_ != nullptr && device_.isOfThisProcess();
  if (may_be_under_way) device_.waitOver(*home_, *last_call_);  // the arenas go back there
}

void CallContext::waitUntilIdle() {
  if (last_call_ != nullptr) device_.waitDone(*last_call_);
  in_flight_.waitUntilDone();
}

bool CallContext::dropMemory() {
  waitUntilIdle();
  bool had_any = in_flight_.letGoOfAll();
  for (std::shared_ptr<Buffer>& arena : arenas_) {
    had_any = had_any || arena != nullptr;
    arena = nullptr;
  }
  arena_bytes_ = 0;
  return had_any;
}

void CallContext::reserve(const Plan& plan) {
  const auto describe = [&] { return plan.describeIntermediates(); };
  const ErrorNote note(describe);
  for (const PlanArena& needed : plan.arenas()) {
    const std::shared_ptr<Buffer>& arena = arenas_[static_cast<size_t>(needed.kind)];
    if (arena == nullptr || arena->bytes() < needed.bytes) growArena(needed);
  }
}

// The smaller one goes first: both together may be more than there is.
void CallContext::growArena(const PlanArena& needed) {
  std::shared_ptr<Buffer>& arena = arenas_[static_cast<size_t>(needed.kind)];
  if (arena != nullptr && intermediates_ != nullptr && isOnProcessor(device_)) waitUntilIdle();
  if (arena != nullptr && last_call_ != nullptr && last_stream_ != home_.get()) device_.waitOver(*home_, *last_call_);
  if (arena != nullptr) arena_bytes_ -= arena->bytes();
  arena = nullptr;
  arena = allocate(needed);
  arena_bytes_ += arena->bytes();
  has_fresh_arena_ = true;
}

// Memory for work on the context's own stream.
std::shared_ptr<Buffer> CallContext::allocate(const PlanArena& needed) {
  if (intermediates_ == nullptr) return Buffer::allocate(device_, home_, needed.bytes, needed.kind);
  return bufferOf(device_, intermediates_->allocate(needed.bytes, needed.kind, *home_), needed.bytes, needed.kind,
                  "intermediates");
}

// The calls share memory and worker streams, no values: another stream's failure is not this call's.
void CallContext::startAfterLastCall(Stream& stream) {
  if (last_call_ == nullptr || last_stream_ == &stream) return;
  device_.waitOver(stream, *last_call_);
  workers_->startAnew();
}

// What a call reads tells which failures are its own, also those of calls before it on this stream.
void CallContext::startAnew() {
  device_.startAnew(*home_);
  workers_->startAnew();
}

void CallContext::noteCall(Stream& stream, const std::shared_ptr<Event>& done) {
  last_stream_ = &stream;
  last_call_ = done;
}

void CallContext::replay(Plan& plan, Stream& stream, const std::shared_ptr<Event>& done) {
  static const RangeName range_name("replay plan");
  const Range range(range_name);
  plan.fillBases(inputs, outputs, arenas_, bases_);
  Replay& replay = plan.replayFor(index_);
  startAfterLastCall(stream);
  if (std::exchange(has_fresh_arena_, false) && &stream != home_.get()) {
    device_.record(*done, *home_);
    device_.waitOver(stream, *done);
  }
  streams_.clear();
  streams_.push_back(&stream);
  for (const PlanStream& used : plan.streams())
    streams_.push_back(used.of_team != nullptr ? used.of_team : &workers_->worker(used.worker));
  noteCall(stream, done);
  plan.noteCall(index_, done);
  try {
    replay.run(streams_, bases_, parameters.bitsOf(plan.parameters()));
  } catch (...) {
    joinWorkers(stream, *done);
    throw;
  }
  device_.record(*done, stream);
}

// A call that failed may have got half way: what comes later starts after that, as far as the device still takes
// anything.
void CallContext::joinWorkers(Stream& stream, Event& done) {
  try {
    for (size_t i = 1; i < streams_.size(); ++i) {
      device_.record(done, *streams_[i]);
      device_.wait(stream, done);
    }
    device_.record(done, stream);
  } catch (const Error&) {
    last_call_ = nullptr;  // no event stands for it; the first failure is the one to report
  }
}

// Nobody knows when the recording runs, or how often: it shares nothing with other calls.
void CallContext::replayInto(Plan& plan, Capture& capture, Stream& stream) {
  struct Used {
    std::shared_ptr<Stream> home;
    std::vector<std::shared_ptr<const Work>> works;
    std::array<std::shared_ptr<Buffer>, kAllMemoryKinds.size()> arenas;  // go first
  };
  auto used = std::make_shared<Used>();
  used->home = home_;
  for (const Step& step : plan.steps().steps) used->works.push_back(step.work);
  for (const PlanArena& needed : plan.arenas()) used->arenas[static_cast<size_t>(needed.kind)] = allocate(needed);
  device_.synchronize(*home_);  // what used these blocks before
  plan.fillBases(inputs, outputs, used->arenas, bases_);
  capture.keep(used);
  plan.replayFor(index_).runInto(capture, stream, bases_, parameters.bitsOf(plan.parameters()));
}

}  // namespace tokamak
