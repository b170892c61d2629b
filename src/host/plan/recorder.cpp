#include "host/plan/recorder.h"

#include <algorithm>
#include <span>
#include <string>

#include <fmt/format.h>

#include "analysis/bind_shape.h"
#include "base/immortal.h"
#include "base/require.h"
#include "device/kernel_target.h"
#include "device/work.h"
#include "ir/expr.h"
#include "ir/expr_summary.h"
#include "ir/ops/host/post_on_stream.h"

namespace tokamak {

namespace {

constexpr uintptr_t kAlignment = 256;
constexpr int64_t kMostBytes = int64_t{1} << 61;

// Work with its accesses.
struct RecordedWork final : Work {
  std::shared_ptr<const Work> work;
  std::vector<OperandDesc> operands;
  std::vector<const Scalar*> parameters;
  size_t result_count = 0;
};

// Each element counts once, however often an expanded axis repeats it.
int64_t bytesOfOperands(std::span<const OperandDesc> operands) {
  int64_t bytes = 0;
  for (const OperandDesc& operand : operands) {
    int64_t elements = 1;
    for (size_t i = 0; i < operand.sizes.size(); ++i)
      elements *= operand.strides[i] == 0 ? std::min<int64_t>(operand.sizes[i], 1) : operand.sizes[i];
    bytes += elements * sizeOf(operand.dtype);
  }
  return bytes;
}

void noteOn(const Work& work, const WorkRequest& request) {
  const bool is_segment = request.expr.is<PostOnStream>();
  work.noteRecorded(is_segment ? fmt::format("{}: {}", work.name(), summaryOf(request.expr)) : std::string(),
                    bytesOfOperands(request.operands));
}

[[noreturn]] void refuse(const char* what) {
  TK_RAISE(Unsupported, "recording: {} is not part of a host program that is planned", what);
}

}  // namespace

void* Recorder::registerBuffer(StepBuffer buffer) {
  // Byte numbers stay below 62 bits, which the checker counts in; no device has as much.
  TK_REQUIRE(buffer.bytes <= kMostBytes - static_cast<int64_t>(next_address_), OutOfMemory,
             "{}: {} bytes, with what the program allocated before, are more than any memory has", buffer.name,
             buffer.bytes);
  const uintptr_t base = next_address_;
  const auto bytes = static_cast<uintptr_t>(buffer.bytes);
  next_address_ += (bytes / kAlignment + 2) * kAlignment;
  bases_[base] = static_cast<int32_t>(steps_.buffers.size());
  steps_.buffers.push_back(std::move(buffer));
  return reinterpret_cast<void*>(base);  // NOLINT(performance-no-int-to-ptr): an address that is never dereferenced
}

void Recorder::describeNext(std::string text, std::string name) {
  text_ = std::move(text);
  next_name_ = std::move(name);
}

StepAddress Recorder::resolve(const void* address) const {
  const auto value = reinterpret_cast<uintptr_t>(address);
  auto found = bases_.upper_bound(value);
  TK_CHECK(found != bases_.begin(), "an address that the recorder did not give");
  --found;
  return {found->second, static_cast<int64_t>(value - found->first)};
}

Step& Recorder::append(StepKind kind, Stream& stream) {
  Step step;
  step.kind = kind;
  step.stream = static_cast<RecordedStream&>(stream).number;
  step.text = text_;
  steps_.steps.push_back(std::move(step));
  return steps_.steps.back();
}

Access Recorder::wholeBuffer(int32_t buffer) const {
  Access access;
  access.buffer = buffer;
  access.is_write = true;
  access.dims = {{.size = steps_.buffers[static_cast<size_t>(buffer)].bytes, .stride = 1}};
  return access;
}

Access Recorder::accessOf(const OperandDesc& operand, const void* address, bool is_write) const {
  const StepAddress at = resolve(address);
  Access access;
  access.buffer = at.buffer;
  access.is_write = is_write;
  access.offset = at.offset;
  access.element_bytes = sizeOf(operand.dtype);
  for (size_t i = 0; i < operand.sizes.size(); ++i) {
    const bool is_point = operand.sizes[i] == 1 || (operand.strides[i] == 0 && operand.sizes[i] > 0);
    if (!is_point) access.dims.push_back({operand.sizes[i], operand.strides[i] * access.element_bytes});
  }
  return access;
}

const DeviceProperties& Recorder::properties() const {
  static const auto& properties =
      *immortal(DeviceProperties{.name = "recorder", .description = "writes down what a device would do"});
  return replay_device_ != nullptr ? replay_device_->properties() : properties;
}

KernelTarget Recorder::kernelTarget() const {
  return replay_device_ != nullptr ? replay_device_->kernelTarget() : cpuTarget();
}

std::unique_ptr<Stream> Recorder::makeStream() {
  auto stream = std::make_unique<RecordedStream>();
  stream->number = steps_.stream_count++;
  return stream;
}

std::unique_ptr<Event> Recorder::createEvent() {
  auto event = std::make_unique<RecordedEvent>();
  event->number = newEvent();
  return event;
}

void* Recorder::allocate(int64_t bytes, MemoryKind kind, Stream& stream) {
  void* address = registerBuffer({.origin = StepBuffer::Origin::Intermediate,
                                  .number = intermediates_++,
                                  .bytes = bytes,
                                  .kind = kind,
                                  .name = next_name_});
  Step& step = append(StepKind::Allocate, stream);
  step.accesses = {wholeBuffer(resolve(address).buffer)};
  return address;
}

void Recorder::release(void* address, int64_t, MemoryKind, Stream& stream) {
  const StepAddress at = resolve(address);
  append(StepKind::Release, stream).accesses = {wholeBuffer(at.buffer)};
}

MemoryStatistics Recorder::memoryStatistics(MemoryKind) const { return {}; }

void Recorder::record(Event& event, Stream& stream) {
  append(StepKind::Record, stream).event = static_cast<RecordedEvent&>(event).number;
}

void Recorder::wait(Stream& stream, const Event& event) {
  append(StepKind::Wait, stream).event = static_cast<const RecordedEvent&>(event).number;
}

std::shared_ptr<const Work> Recorder::prepare(const WorkRequest& request) {
  requireNotCancelled();
  auto recorded = std::make_shared<RecordedWork>();
  if (replay_device_ != nullptr) {
    recorded->work = replay_device_->prepare(request);
    if (recorded->work != nullptr) noteOn(*recorded->work, request);
  }
  recorded->operands.assign(request.operands.begin(), request.operands.end());
  recorded->parameters.assign(request.parameters.begin(), request.parameters.end());
  recorded->result_count = tensorsOf(request.expr.outputs()).size();
  return recorded;
}

void Recorder::launch(Stream& stream, const Work& work, std::span<void* const> addresses) {
  const auto& recorded = static_cast<const RecordedWork&>(work);
  std::vector<Access> accesses;
  std::vector<StepAddress> resolved;
  for (size_t i = 0; i < addresses.size(); ++i) {
    resolved.push_back(resolve(addresses[i]));
    const bool is_write = i + recorded.result_count >= addresses.size();
    const OperandDesc& operand = recorded.operands[i];
    if (std::ranges::find(operand.sizes, 0) == operand.sizes.end()) {
      accesses.push_back(accessOf(operand, addresses[i], is_write));
    }
  }
  Step& step = append(StepKind::Work, stream);
  step.accesses = std::move(accesses);
  step.addresses = std::move(resolved);
  step.parameters = recorded.parameters;
  step.work = recorded.work;
}

void Recorder::fill(Stream& stream, void* to, uint8_t byte, int64_t bytes) {
  if (byte != 0) refuse("a fill with another byte than 0");
  Access access = wholeBuffer(resolve(to).buffer);
  access.offset = resolve(to).offset;
  access.dims[0].size = bytes;
  Step& step = append(StepKind::Fill, stream);
  step.addresses = {resolve(to)};
  step.accesses = {std::move(access)};
}

void Recorder::requireNotCancelled() const {
  TK_REQUIRE(!cancel_.stop_requested(), Cancelled, "the caller cancelled it; nothing of it ran");
}

Stream& Recorder::recordedStream(Stream& stream) {
  std::unique_ptr<Stream>& recorded = others_[&stream];
  if (recorded == nullptr) recorded = makeStream();
  return *recorded;
}

Stream* Recorder::streamOf(int32_t number) const {
  for (const auto& [stream, recorded] : others_) {
    if (static_cast<const RecordedStream&>(*recorded).number == number) return stream;
  }
  return nullptr;
}

void Recorder::launchPrepared(Stream& stream, std::shared_ptr<const Work> work, std::span<void* const> addresses,
                              std::span<const Touched> touched) {
  requireNotCancelled();
  Step step{.kind = StepKind::Work, .stream = static_cast<RecordedStream&>(stream).number};
  for (const Touched& use : touched) {
    if (std::ranges::find(use.operand.sizes, 0) == use.operand.sizes.end())
      step.accesses.push_back(accessOf(use.operand, use.address, use.mode == AccessMode::Write));
  }
  for (void* address : addresses) step.addresses.push_back(resolve(address));
  step.work = std::move(work);
  step.text = text_;
  steps_.steps.push_back(std::move(step));
}

void Recorder::post(Stream& stream, int32_t communication, std::span<const OperandDesc> operands,
                    std::span<void* const> addresses, size_t result_count) {
  std::vector<Access> accesses;
  for (size_t i = 0; i < addresses.size(); ++i) {
    accesses.push_back(accessOf(operands[i], addresses[i], i + result_count >= addresses.size()));
  }
  Step& step = append(StepKind::Post, stream);
  step.event = communication;
  step.accesses = std::move(accesses);
}

void Recorder::join(Stream& stream, int32_t communication) { append(StepKind::Join, stream).event = communication; }

void Recorder::copy(Stream&, void*, const void*, int64_t) { refuse("a raw copy"); }
void Recorder::callback(Stream&, std::function<void()>) { refuse("a callback"); }
void Recorder::writeFlag(Stream&, uint64_t*, uint64_t) { refuse("a flag write"); }
void Recorder::waitFlag(Stream&, const uint64_t*, uint64_t) { refuse("a flag wait"); }
void Recorder::synchronize(Stream&) {}
void Recorder::synchronize(const Event&) {}
bool Recorder::isDone(const Event&) { return true; }

}  // namespace tokamak
