#include "host/plan/plan.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <set>

#include <fmt/format.h>

#include "base/profiler_range.h"
#include "base/require.h"
#include "base/text.h"
#include "device/work.h"
#include "host/plan/copy_ahead.h"
#include "host/plan/place_buffers.h"
#include "host/plan/step_clocks.h"

namespace tokamak {

namespace {

// The buffer's index after placing. (Inputs and outputs keep origin and number, but not the index.)
int32_t numberAfterPlacing(const StepList& before, const StepList& after, int32_t buffer) {
  const StepBuffer& wanted = before.buffers[static_cast<size_t>(buffer)];
  for (size_t b = 0; b < after.buffers.size(); ++b) {
    if (after.buffers[b].origin == wanted.origin && after.buffers[b].number == wanted.number)
      return static_cast<int32_t>(b);
  }
  TK_RAISE(Internal, "buffer {} is lost", wanted.name);
}

int64_t bytesOf(const StepList& list) {
  int64_t bytes = static_cast<int64_t>(list.buffers.size() * sizeof(StepBuffer) + list.steps.size() * sizeof(Step));
  for (const Step& step : list.steps) {
    bytes += static_cast<int64_t>(step.addresses.size() * sizeof(StepAddress) + step.text.size() +
                                  step.accesses.size() * (sizeof(Access) + 2 * sizeof(Access::Dim)));
  }
  return bytes;
}

// Each once.
int64_t bytesOfWorks(const StepList& list) {
  std::set<const Work*> works;
  for (const Step& step : list.steps) works.insert(step.work.get());
  works.erase(nullptr);
  int64_t bytes = 0;
  for (const Work* work : works) bytes += work->hostBytes();
  return bytes;
}

}  // namespace

Plan::Plan(Device& device, StepList recorded, std::vector<PlanOutput> outputs, std::vector<PlanStream> streams,
           size_t contexts)
    : device_(&device),
      recorded_(std::move(recorded)),
      list_(placeBuffers(dropImpliedWaits(device.properties().has_copy_engines ? copyAhead(recorded_) : recorded_))),
      outputs_(std::move(outputs)),
      streams_(std::move(streams)),
      replays_(contexts),
      calls_(contexts) {
  static const RangeName range_name("place and prepare plan");
  const Range range(range_name);
  for (int32_t i = recorded_.stream_count; i < list_.stream_count; ++i)
    streams_.push_back({.worker = PlanStream::kFirstCopies - (i - recorded_.stream_count)});
  for (PlanOutput& output : outputs_) output.at.buffer = numberAfterPlacing(recorded_, list_, output.at.buffer);
  compile();
  host_bytes_ = static_cast<int64_t>(sizeof(Plan)) + bytesOf(recorded_) + bytesOf(list_) + replay_steps_.hostBytes() +
                bytesOfWorks(list_);
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
  const auto post = std::ranges::find(list_.steps, StepKind::Post, &Step::kind);
  TK_REQUIRE(post == list_.steps.end(), Unsupported,
             "plan: {} cannot be replayed without a communicator; run it over ranks (--ranks)", post->text);
  summary_.waits_written = countWaits(recorded_);
  summary_.waits_kept = countWaits(list_);
  summary_.arena_bytes = arenaBytes(list_);
  for (const StepBuffer& buffer : list_.buffers) {
    if (buffer.origin == StepBuffer::Origin::Output) summary_.output_bytes += buffer.bytes;
    if (buffer.origin == StepBuffer::Origin::Arena) arenas_.push_back({buffer.kind, buffer.bytes});
  }
  ReplaySteps& replay = replay_steps_;
  replay.stream_count = list_.stream_count;
  replay.event_count = list_.event_count;
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
      default: TK_RAISE(Internal, "plan: {} is a step that no plan has", step.text);
    }
    used_streams.insert(step.stream);
    addPassed(step, replay);
    replay.steps.push_back(made);
  }
  used_streams.insert(0);
  summary_.steps = static_cast<int64_t>(replay.steps.size());
  summary_.streams = static_cast<int64_t>(used_streams.size());
  replay.base_count = list_.buffers.size();
  replay.parameter_count = parameters_.size();
}

Replay& Plan::replayFor(size_t index) {
  std::unique_ptr<Replay>& replay = replays_[index];
  if (replay == nullptr) {
    replay = device_->prepareReplay(replay_steps_);
    host_bytes_.fetch_add(replay->hostBytes(), std::memory_order_relaxed);
  }
  return *replay;
}

// Adds a step's addresses and parameters to the replay.
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

void Plan::fillBases(std::span<void* const> inputs, std::span<void* const> output_buffers,
                     std::span<const std::shared_ptr<Buffer>> arenas, std::vector<void*>& bases) const {
  bases.clear();
  for (const StepBuffer& buffer : list_.buffers) {
    const auto number = static_cast<size_t>(buffer.number);
    if (buffer.origin == StepBuffer::Origin::Input)
      bases.push_back(inputs[number]);
    else if (buffer.origin == StepBuffer::Origin::Output)
      bases.push_back(output_buffers[number]);
    else
      bases.push_back(arenas[static_cast<size_t>(buffer.kind)]->address());
  }
}

void Plan::noteCall(size_t index, const std::shared_ptr<Event>& done) {
  const std::lock_guard lock(calls_lock_);
  calls_[index] = done;
  last_call_ = done;
}

const Event* Plan::lastCall() const {
  const std::lock_guard lock(calls_lock_);
  return last_call_.get();
}

bool Plan::isOver() const {
  const std::lock_guard lock(calls_lock_);
  return std::ranges::all_of(calls_, [&](const auto& call) { return call == nullptr || device_->isDone(*call); });
}

void Plan::waitUntilOver() const {
  std::vector<std::shared_ptr<Event>> calls;
  {
    const std::lock_guard lock(calls_lock_);
    calls = calls_;
  }
  for (const auto& call : calls) {
    if (call != nullptr) device_->waitDone(*call);
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
                     joined(output.strides));
}

}  // namespace tokamak
