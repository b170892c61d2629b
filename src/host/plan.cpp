#include "host/plan.h"

#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/ranges.h"
#include "host/place_buffers.h"
#include "host/step_clocks.h"

namespace tokamak {

namespace {

// Inputs and outputs keep origin and number when buffers are placed, but not their place in the list.
int32_t numberAfterPlacing(const StepList& before, const StepList& after, int32_t buffer) {
  const StepBuffer& wanted = before.buffers[static_cast<size_t>(buffer)];
  for (size_t b = 0; b < after.buffers.size(); ++b) {
    if (after.buffers[b].origin == wanted.origin && after.buffers[b].number == wanted.number)
      return static_cast<int32_t>(b);
  }
  TK_RAISE(Internal, "buffer {} is lost", wanted.name);
}

}  // namespace

Plan::Plan(Device& device, StepList recorded, std::vector<PlanOutput> outputs, std::vector<Stream*> workers,
           std::shared_ptr<Stream> home)
    : device_(&device),
      recorded_(std::move(recorded)),
      list_(placeBuffers(dropImpliedWaits(recorded_))),
      outputs_(std::move(outputs)),
      streams_(std::move(workers)),
      home_(std::move(home)) {
  static const RangeName range_name("place and prepare plan");
  const Range range(range_name);
  streams_.insert(streams_.begin(), nullptr);  // the caller's, given per call
  for (PlanOutput& output : outputs_) output.at.buffer = numberAfterPlacing(recorded_, list_, output.at.buffer);
  compile();
}

Plan::~Plan() {
  if (last_call_ != nullptr) device_->wait(*home_, *last_call_);
}

// "while allocating 4096 bytes of intermediates for T1 (2048 bytes), T3 (2048 bytes)"
std::string Plan::describeIntermediates() const {
  constexpr size_t kMost = 6;
  std::vector<std::pair<int64_t, std::string>> largest;
  for (const StepBuffer& buffer : recorded_.buffers)
    if (buffer.origin == StepBuffer::Origin::Intermediate) largest.emplace_back(buffer.bytes, buffer.name);
  std::ranges::sort(largest, std::greater<>());
  std::string text;
  for (const auto& [bytes, name] : std::span(largest).first(std::min(kMost, largest.size())))
    text += fmt::format("{}{} ({} bytes)", text.empty() ? "" : ", ", name, bytes);
  return fmt::format("while allocating {} bytes of intermediates, the largest of them {}", summary_.arena_bytes, text);
}

void Plan::compile() {
  summary_.waits_written = countWaits(recorded_);
  summary_.waits_kept = countWaits(list_);
  summary_.arena_bytes = arenaBytes(list_);
  for (const StepBuffer& buffer : list_.buffers) {
    if (buffer.origin == StepBuffer::Origin::Output) summary_.output_bytes += buffer.bytes;
    if (buffer.origin == StepBuffer::Origin::Arena) {
      const auto describe = [this] { return describeIntermediates(); };
      const ErrorNote note(describe);
      arenas_.push_back(Buffer::allocate(*device_, home_, buffer.bytes, buffer.kind));
    }
  }
  ReplaySteps replay{.stream_count = list_.stream_count, .event_count = list_.event_count};
  std::set<int32_t> used_streams;
  for (const Step& step : list_.steps) {
    ReplayStep made{.stream = step.stream,
                    .event = step.event,
                    .first_slot = static_cast<uint32_t>(replay.slots.size()),
                    .slot_count = static_cast<uint32_t>(step.addresses.size() + step.parameters.size()),
                    .work = step.work.get()};
    using Action = ReplayStep::Action;
    switch (step.kind) {
      case StepKind::Work: made.action = Action::Launch; break;
      case StepKind::Fill:
        made.action = Action::Fill;
        made.bytes = step.accesses[0].dims[0].size;
        break;
      case StepKind::Record: made.action = Action::Record; break;
      case StepKind::Wait: made.action = Action::Wait; break;
      default: TK_RAISE(Unsupported, "plan: {} cannot be replayed without a communicator", step.text);
    }
    used_streams.insert(step.stream);
    addPassed(step, replay);
    replay.steps.push_back(made);
  }
  used_streams.insert(0);
  summary_.steps = static_cast<int64_t>(replay.steps.size());
  summary_.streams = static_cast<int64_t>(used_streams.size());
  bases_.resize(list_.buffers.size());
  replay.base_count = bases_.size();
  replay.parameter_count = parameters_.size();
  replay_ = device_->prepareReplay(std::move(replay));
}

// What a launch passes.
void Plan::addPassed(const Step& step, ReplaySteps& replay) {
  for (const StepAddress& address : step.addresses) replay.slots.push_back({address.buffer, address.offset});
  for (const Scalar* parameter : step.parameters) {
    const auto found = std::ranges::find(parameters_, parameter);
    replay.slots.push_back({ReplaySlot::kParameter, found - parameters_.begin()});
    if (found == parameters_.end()) parameters_.push_back(parameter);
  }
}

int64_t Plan::outputBufferBytes(int64_t number) const {
  for (const StepBuffer& buffer : list_.buffers) {
    if (buffer.origin == StepBuffer::Origin::Output && buffer.number == number) return buffer.bytes;
  }
  TK_RAISE(Internal, "the plan has no output buffer {}", number);
}

void Plan::setBases(std::span<void* const> inputs, std::span<void* const> output_buffers,
                    std::span<const std::shared_ptr<Buffer>> arenas) {
  size_t arena = 0;
  for (size_t b = 0; b < list_.buffers.size(); ++b) {
    const StepBuffer& buffer = list_.buffers[b];
    const auto number = static_cast<size_t>(buffer.number);
    if (buffer.origin == StepBuffer::Origin::Input)
      bases_[b] = inputs[number];
    else if (buffer.origin == StepBuffer::Origin::Output)
      bases_[b] = output_buffers[number];
    else
      bases_[b] = arenas[arena++]->address();
  }
}

// Nobody knows when the recording runs, or how often: it shares nothing with other calls.
void Plan::replayInto(Capture& capture, std::span<void* const> inputs, std::span<void* const> output_buffers,
                      std::span<void* const> parameters, Stream& stream) {
  struct Used {
    std::shared_ptr<Stream> home;
    std::vector<std::shared_ptr<const Work>> works;
    std::vector<std::shared_ptr<Buffer>> arenas;  // go first
  };
  const std::lock_guard lock(mutex_);
  auto used = std::make_shared<Used>();
  used->home = home_;
  for (const Step& step : list_.steps) used->works.push_back(step.work);
  for (const std::shared_ptr<Buffer>& arena : arenas_)
    used->arenas.push_back(Buffer::allocate(*device_, home_, arena->bytes(), arena->kind()));
  device_->synchronize(*home_);  // what used these blocks before
  setBases(inputs, output_buffers, used->arenas);
  capture.keep(used);
  replay_->runInto(capture, stream, bases_, parameters);
}

void Plan::replay(std::span<void* const> inputs, std::span<void* const> output_buffers,
                  std::span<void* const> parameters, Stream& stream, const std::shared_ptr<Event>& done) {
  static const RangeName range_name("replay plan");
  const Range range(range_name);
  const std::lock_guard lock(mutex_);
  setBases(inputs, output_buffers, arenas_);
  // The arena and the worker streams are shared by all calls: a call on another stream starts after the last one.
  if (last_call_ == nullptr && &stream != home_.get()) {
    device_->record(*done, *home_);
    device_->wait(stream, *done);
  } else if (last_call_ != nullptr && last_stream_ != &stream) {
    device_->wait(stream, *last_call_);
  }
  streams_[0] = &stream;
  last_stream_ = &stream;
  last_call_ = done;
  try {
    replay_->run(streams_, bases_, parameters);
  } catch (...) {
    joinWorkers(*done);
    throw;
  }
  device_->record(*done, stream);
}

// A call that failed may have got half way: what comes later starts after that, as far as the device still takes anything.
void Plan::joinWorkers(Event& done) {
  Stream& stream = *streams_[0];
  try {
    for (Stream* const worker : std::span(streams_).subspan(1)) {
      device_->record(done, *worker);
      device_->wait(stream, done);
    }
    device_->record(done, stream);
  } catch (const Error&) {
    last_call_ = nullptr;  // no event stands for it; the first failure is the one to report
  }
}

std::string Plan::toString() const {
  std::string text =
      fmt::format("plan: {} steps, {} streams, {} waits kept of {}, peak {} bytes ({} intermediates, {} outputs)\n",
                  summary_.steps, summary_.streams, summary_.waits_kept, summary_.waits_written, summary_.peakBytes(),
                  summary_.arena_bytes, summary_.output_bytes);
  for (const Step& step : list_.steps) {
    text += fmt::format("  stream {}: ", step.stream);
    switch (step.kind) {
      case StepKind::Record: text += fmt::format("record event {}", step.event); break;
      case StepKind::Wait: text += fmt::format("wait for event {}", step.event); break;
      default: text += step.text; break;
    }
    for (const StepAddress& address : step.addresses) {
      const StepBuffer& buffer = list_.buffers[static_cast<size_t>(address.buffer)];
      text += fmt::format(" {}+{}", buffer.name, address.offset);
    }
    for (const Scalar* parameter : step.parameters) text += " " + tokamak::toString(*parameter);
    text += '\n';
  }
  for (const PlanOutput& output : outputs_) {
    if (output.is_view) text += fmt::format("  {}: {}\n", output.name, describeView(output));
  }
  for (const std::string& sentence : copied_views_) text += fmt::format("  {}\n", sentence);
  return text;
}

std::string Plan::describeView(const PlanOutput& output) const {
  const StepBuffer& buffer = list_.buffers[static_cast<size_t>(output.at.buffer)];
  return fmt::format("a view of {}, from byte {} on, with strides [{}]", buffer.name, output.at.offset,
                     fmt::join(output.strides, ", "));
}

}  // namespace tokamak
