#include "host/plan.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
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
      home_(std::move(home)),
      last_call_(device.createEvent()) {
  streams_.insert(streams_.begin(), nullptr);  // the caller's, given per call
  for (PlanOutput& output : outputs_) output.at.buffer = numberAfterPlacing(recorded_, list_, output.at.buffer);
  compile();
}

Plan::~Plan() {
  if (last_stream_ != nullptr) device_->wait(*home_, *last_call_);
}

void Plan::compile() {
  summary_.waits_written = countWaits(recorded_);
  summary_.waits_kept = countWaits(list_);
  summary_.arena_bytes = arenaBytes(list_);
  for (const StepBuffer& buffer : list_.buffers) {
    if (buffer.origin == StepBuffer::Origin::Output) summary_.output_bytes += buffer.bytes;
    if (buffer.origin == StepBuffer::Origin::Arena) {
      arenas_.push_back(Buffer::allocate(*device_, home_, buffer.bytes, buffer.kind));
    }
  }
  for (int32_t e = 0; e < list_.event_count; ++e) events_.push_back(device_->createEvent());
  std::set<int32_t> used_streams;
  size_t most_addresses = 0;
  for (const Step& step : list_.steps) {
    ReplayStep replay{Action::Launch,
                      step.stream,
                      step.event,
                      static_cast<uint32_t>(addresses_.size()),
                      static_cast<uint32_t>(step.addresses.size() + step.parameters.size()),
                      step.work.get(),
                      0};
    switch (step.kind) {
      case StepKind::Work: break;
      case StepKind::Fill:
        replay.action = Action::Fill;
        replay.bytes = step.accesses[0].dims[0].size;
        break;
      case StepKind::Record: replay.action = Action::Record; break;
      case StepKind::Wait: replay.action = Action::Wait; break;
      default: TK_RAISE(Unsupported, "plan: {} cannot be replayed without a communicator", step.text);
    }
    used_streams.insert(step.stream);
    addPassed(step);
    most_addresses = std::max<size_t>(most_addresses, replay.address_count);
    steps_.push_back(replay);
  }
  used_streams.insert(0);
  summary_.steps = static_cast<int64_t>(steps_.size());
  summary_.streams = static_cast<int64_t>(used_streams.size());
  bases_.resize(list_.buffers.size());
  scratch_.resize(most_addresses);
}

// What a launch passes.
void Plan::addPassed(const Step& step) {
  addresses_.insert(addresses_.end(), step.addresses.begin(), step.addresses.end());
  for (const Scalar* parameter : step.parameters) {
    const auto found = std::ranges::find(parameters_, parameter);
    addresses_.push_back({kParameter, found - parameters_.begin()});
    if (found == parameters_.end()) parameters_.push_back(parameter);
  }
}

int64_t Plan::outputBufferBytes(int64_t number) const {
  for (const StepBuffer& buffer : list_.buffers) {
    if (buffer.origin == StepBuffer::Origin::Output && buffer.number == number) return buffer.bytes;
  }
  TK_RAISE(Internal, "the plan has no output buffer {}", number);
}

void Plan::replay(std::span<void* const> inputs, std::span<void* const> output_buffers,
                  std::span<void* const> parameters, Stream& stream) {
  const std::lock_guard lock(mutex_);
  size_t arena = 0;
  for (size_t b = 0; b < list_.buffers.size(); ++b) {
    const StepBuffer& buffer = list_.buffers[b];
    const auto number = static_cast<size_t>(buffer.number);
    if (buffer.origin == StepBuffer::Origin::Input)
      bases_[b] = inputs[number];
    else if (buffer.origin == StepBuffer::Origin::Output)
      bases_[b] = output_buffers[number];
    else
      bases_[b] = arenas_[arena++]->address();
  }
  // The arena and the worker streams are shared by all calls: a call on another stream starts after the last one.
  if (last_stream_ == nullptr && &stream != home_.get()) {
    device_->record(*last_call_, *home_);
    device_->wait(stream, *last_call_);
  } else if (last_stream_ != nullptr && last_stream_ != &stream) {
    device_->wait(stream, *last_call_);
  }
  for (const ReplayStep& step : steps_) {
    Stream& on = step.stream == 0 ? stream : *streams_[static_cast<size_t>(step.stream)];
    switch (step.action) {
      case Action::Launch:
        for (uint32_t i = 0; i < step.address_count; ++i) {
          const StepAddress& address = addresses_[step.first_address + i];
          scratch_[i] = address.buffer == kParameter
                            ? parameters[static_cast<size_t>(address.offset)]
                            : static_cast<std::byte*>(bases_[static_cast<size_t>(address.buffer)]) + address.offset;
        }
        device_->launch(on, *step.work, {scratch_.data(), step.address_count});
        break;
      case Action::Fill: {
        const StepAddress& address = addresses_[step.first_address];
        device_->fill(on, static_cast<std::byte*>(bases_[static_cast<size_t>(address.buffer)]) + address.offset, 0,
                      step.bytes);
        break;
      }
      case Action::Record: device_->record(*events_[static_cast<size_t>(step.event)], on); break;
      case Action::Wait: device_->wait(on, *events_[static_cast<size_t>(step.event)]); break;
    }
  }
  device_->record(*last_call_, stream);
  last_stream_ = &stream;
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
  return text;
}

}  // namespace tokamak
