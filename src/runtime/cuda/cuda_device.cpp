#include "runtime/cuda/cuda_device.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/require.h"
#include "device/capture.h"
#include "device/hazard_tracker.h"
#include "device/in_flight_calls.h"
#include "device/work.h"
#include "runtime/cuda/cuda_capture.h"
#include "runtime/cuda/cuda_trace.h"

namespace tokamak {

namespace {

constexpr uint8_t kDevicePoison = 0xFF;

int64_t hostMemoryBytes() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(sysconf(_SC_PAGESIZE));
}

CudaDeviceOptions checked(const CudaDeviceOptions& options) {
  TK_REQUIRE(options.memory_limit >= 0, Usage,
             "cuda device: a memory limit of {} bytes was asked for; 0 is all that the GPU has", options.memory_limit);
  return options;
}

void requireDeviceSize(const char* operation, int64_t bytes) {
  TK_REQUIRE(bytes >= 0, Usage, "{}: {} bytes were asked for; a size is not negative", operation, bytes);
}

void requireFlag(const char* operation, const void* flag) {
  TK_REQUIRE(flag != nullptr && reinterpret_cast<uintptr_t>(flag) % sizeof(uint64_t) == 0, Usage,
             "{}: the flag lies at {}; a multiple of 8 bytes is legal", operation, flag);
}

std::string processorName(DriverContext& context) {
  std::array<char, 256> text = {};
  context.check(context.driver().device_name(text.data(), text.size() - 1, context.device()), "{}: its name",
                context.name());
  return text.data();
}

int64_t memoryOf(DriverContext& context) {
  size_t bytes = 0;
  context.check(context.driver().device_memory(&bytes, context.device()), "{}: its memory", context.name());
  return static_cast<int64_t>(bytes);
}

int64_t memoryLimit(DriverContext& context, int64_t limit) { return limit == 0 ? memoryOf(context) : limit; }

// "sm_90a": with what only this generation has.
std::string architectureOf(const CudaProperties& properties) {
  return fmt::format("sm_{}{}{}", properties.capability_major, properties.capability_minor,
                     properties.capability_major >= 9 ? "a" : "");
}

void requireAbilities(DriverContext& context) {
  TK_REQUIRE(context.attribute(driver::kUnifiedAddressing) != 0 && context.attribute(driver::kStreamMemoryOps64) != 0,
             Unsupported, "{}: it lacks unified addresses or 64-bit stream memory operations, which are needed",
             context.name());
}

std::shared_ptr<DriverContext> openContext(int64_t ordinal, const std::string& driver) {
  auto context = std::make_shared<DriverContext>(DriverLibrary::start(driver), ordinal);
  requireAbilities(*context);
  return context;
}

}  // namespace

class CudaDevice::CudaStream final : public Stream {
 public:
  CudaStream(CudaDevice& device, CudaQueue& queue) : device_(device), queue_(queue) {}
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  ~CudaStream() override { device_.giveBack(queue_); }
  CudaQueue& queue() const { return queue_; }
  void* nativeHandle() const override { return queue_.handle(); }

 private:
  CudaDevice& device_;
  CudaQueue& queue_;
};

class CudaDevice::CudaEvent final : public Event {
 public:
  CudaPointRef point() const {
    const std::lock_guard lock(lock_);
    return point_;
  }
  void set(CudaPointRef point) {
    const std::lock_guard lock(lock_);
    std::swap(point_, point);
  }

 private:
  mutable SpinLock lock_;
  CudaPointRef point_;
};

CudaDevice::CudaDevice(int64_t ordinal, const CudaDeviceOptions& options)
    : options_(checked(options)),
      context_(openContext(ordinal, options_.driver)),
      cuda_properties_(tokamak::cudaProperties(*context_)),
      memory_(*context_),
      device_memory_(memory_, memoryLimit(*context_, options_.memory_limit)),
      host_memory_(memory_, hostMemoryBytes()),
      points_(*context_),
      capture_streams_(std::make_shared<StreamPool>(context_)),
      capture_remains_(std::make_shared<CaptureRemains>()) {
  if (options_.trace != nullptr) trace_ = CudaTrace::start(context_, *options_.trace);
  context_->onShortage([this] { trimMemory(); });
  properties_ = {.name = context_->name(),
                 .description = processorName(*context_),
                 .threads = cuda_properties_.multiprocessors,
                 .memory_bytes = device_memory_.limit(),
                 .host_reads_device_memory = false,
                 .ordinal = ordinal,
                 .architecture = architectureOf(cuda_properties_),
                 .takes_parameters = true,
                 .activates_products = true,
                 .has_copy_engines = true};
}

CudaDevice::~CudaDevice() {
  hazards().forgetAll();
  capture_remains_->close();
  context_->onShortage(nullptr);
}

bool CudaDevice::overlapsLaunches() const {
  const char* const given = std::getenv("TOKAMAK_CUDA_OVERLAP");
  const bool is_allowed = given == nullptr ? options_.overlaps_launches : std::string_view(given) != "0";
  return is_allowed && cuda_properties_.can_overlap_launches;
}

void CudaDevice::reportTrace() {
  if (trace_ != nullptr) trace_->report();
}

std::string CudaDevice::traceSource() const { return trace_ == nullptr ? "" : trace_->describe(); }

std::unique_ptr<Stream> CudaDevice::makeStream() {
  const std::lock_guard lock(queues_mutex_);
  if (idle_queues_.empty()) {
    const auto index = static_cast<int64_t>(queues_.size());
    auto queue = std::make_unique<CudaQueue>(index, *context_, raiseCount());
    if (trace_ != nullptr) {
      queue->observe(*trace_);
      options_.trace->nameTrack(index, fmt::format("stream {}", index));
    }
    idle_queues_.reserve(queues_.size() + 1);  // so that giving a stream back needs no memory
    idle_queues_.push_back(queues_.emplace_back(std::move(queue)).get());
  }
  auto stream = std::make_unique<CudaStream>(*this, *idle_queues_.back());
  idle_queues_.pop_back();
  return stream;
}

// The same stream gets the same queue again: memory that was released on it may still be waited for by its name.
std::shared_ptr<Stream> CudaDevice::adoptStream(void* stream) {
  auto* const handle = static_cast<driver::Stream>(stream);
  const std::lock_guard lock(queues_mutex_);
  const auto known = std::ranges::find_if(queues_, [&](const auto& it) { return it->isAdopted(handle); });
  const auto index = static_cast<int64_t>(queues_.size());
  CudaQueue& queue = known != queues_.end()
                         ? **known
                         : *queues_.emplace_back(std::make_unique<CudaQueue>(index, *context_, raiseCount(), handle));
  queue.addUser();
  return owned(std::make_unique<CudaStream>(*this, queue));
}

bool CudaDevice::isWorkThread() const {
  const std::lock_guard lock(queues_mutex_);
  return std::ranges::any_of(queues_, [](const auto& queue) { return queue->isRunHere(); });
}

void CudaDevice::giveBack(CudaQueue& queue) {
  if (queue.isAdopted()) return queue.removeUser();
  queue.reset();
  const std::lock_guard lock(queues_mutex_);
  idle_queues_.push_back(&queue);
}

std::unique_ptr<Capture> CudaDevice::joinCapture(Stream& stream) {
  const driver::Graph graph = queueOf(stream).capturedGraph();
  if (graph == nullptr) return nullptr;
  auto capture = std::make_unique<CudaCapture>(*context_, graph, capture_remains_);
  capture_remains_->letGo();
  return capture;
}

std::unique_ptr<Event> CudaDevice::createEvent() { return std::make_unique<CudaEvent>(); }

CudaQueue& CudaDevice::queueOf(Stream& stream) { return static_cast<CudaStream&>(stream).queue(); }

CudaQueue& CudaDevice::ownQueue(Stream& stream, std::string_view operation) const {
  requireOwn(stream, operation);
  return queueOf(stream);
}

void* CudaDevice::allocate(int64_t bytes, MemoryKind kind, Stream& stream) {
  CudaQueue& queue = ownQueue(stream, "allocate");
  Arena& arena = arenaOf(kind);
  if (fail_in_.load(std::memory_order_relaxed) > 0 && fail_in_.fetch_sub(1) == 1) arena.failAllocation(1);
  void* const address = arena.allocate(bytes, kind, queue).address;
  if (options_.poisons_memory && bytes > 0) queue.fill(address, kDevicePoison, bytes);
  return address;
}

void CudaDevice::release(void* address, int64_t bytes, MemoryKind kind, Stream& stream) {
  CudaQueue& queue = queueOf(stream);
  arenaOf(kind).release(address, bytes, kind, queue, queue.mark());
}

MemoryStatistics CudaDevice::memoryStatistics(MemoryKind kind) const {
  return (kind == MemoryKind::Device ? device_memory_ : host_memory_).statistics(kind);
}

void CudaDevice::requireMemory(const void* address, MemoryKind kind) {
  // Pageable memory is not known to the driver.
  if (kind == MemoryKind::Host) return;
  TK_REQUIRE(context_->isKnown(address), Bind, "{}: {} is no {} memory that the driver knows", properties_.name,
             address, memoryKindName(kind));
  const std::optional<int64_t> owner = kind == MemoryKind::Device ? context_->ownerOf(address) : std::nullopt;
  TK_REQUIRE(!owner || *owner == properties_.ordinal, Bind, "{}: {} is memory of cuda:{}", properties_.name, address,
             *owner);
}

void CudaDevice::trimMemory() {
  device_memory_.trim();
  host_memory_.trim();
}

void CudaDevice::record(Event& event, Stream& stream) {
  if (ownQueue(stream, "record").capturedGraph() != nullptr) return static_cast<CudaEvent&>(event).set({});
  CudaPointRef point = points_.take();
  queueOf(stream).record(point);
  static_cast<CudaEvent&>(event).set(std::move(point));
}

void CudaDevice::waitFor(Stream& stream, const Event& event, WaitFor what) const {
  const CudaPointRef point = static_cast<const CudaEvent&>(event).point();
  CudaQueue& queue = ownQueue(stream, "wait");
  if (!point || queue.capturedGraph() != nullptr) return;
  if (point->queue == &queue) what = what == WaitFor::Everything ? WaitFor::Failure : what;
  if (point->queue != &queue || what == WaitFor::Failure) queue.wait(point, what);
}

void CudaDevice::wait(Stream& stream, const Event& event) { waitFor(stream, event, WaitFor::Everything); }

void CudaDevice::waitOver(Stream& stream, const Event& event) { waitFor(stream, event, WaitFor::Order); }

void CudaDevice::takeFailure(Stream& stream, const Event& event) { waitFor(stream, event, WaitFor::Failure); }

void CudaDevice::startAnew(Stream& stream) { ownQueue(stream, "start anew").startAnew(); }

void CudaDevice::copy(Stream& stream, void* to, const void* from, int64_t bytes) {
  requireDeviceSize("copy", bytes);
  if (bytes > 0) ownQueue(stream, "copy").copy(to, from, bytes);
}

void CudaDevice::fill(Stream& stream, void* to, uint8_t byte, int64_t bytes) {
  requireDeviceSize("fill", bytes);
  if (bytes > 0) ownQueue(stream, "fill").fill(to, byte, bytes);
}

void CudaDevice::launch(Stream& stream, const Work& work, std::span<void* const> addresses) {
  CudaQueue& queue = ownQueue(stream, "launch");
  const auto& cuda_work = static_cast<const CudaWork&>(work);
  cuda_work.makeReadyOn(*context_, queue.stream());
  queue.launch(cuda_work, addresses);
}

void CudaDevice::callback(Stream& stream, std::function<void()> function) {
  TK_REQUIRE(function != nullptr, Usage, "callback: an empty function was given; it has nothing to call");
  ownQueue(stream, "callback").callback(std::move(function));
}

void CudaDevice::writeFlag(Stream& stream, uint64_t* flag, uint64_t value) {
  requireFlag("write flag", flag);
  ownQueue(stream, "write flag").writeFlag(flag, value);
}

void CudaDevice::waitFlag(Stream& stream, const uint64_t* flag, uint64_t value) {
  requireFlag("wait for flag", flag);
  ownQueue(stream, "wait for flag").waitFlag(flag, value);
}

void CudaDevice::handOver(Stream& stream) {
  CudaQueue& queue = ownQueue(stream, "hand over");
  if (queue.isAdopted()) queue.waitHandedOver();
}

void CudaDevice::synchronize(Stream& stream) {
  const auto failure = ownQueue(stream, "synchronize").synchronize();
  inFlightCalls().letGoOfWhatIsDone();
  if (failure != nullptr) raiseCount().raise(*failure);
}

void CudaDevice::synchronize(const Event& event) {
  const CudaPointRef point = static_cast<const CudaEvent&>(event).point();
  if (!point) return;
  requireProcess();
  point->queue->synchronize(*point.get());
  inFlightCalls().letGoOfWhatIsDone();
  if (point->failure == nullptr || point->is_told.exchange(true)) return;
  point->queue->noteTold(*point.get());
  raiseCount().raise(*point->failure);
}

void CudaDevice::waitDone(const Event& event) {
  const CudaPointRef point = static_cast<const CudaEvent&>(event).point();
  if (point) point->queue->synchronize(*point.get());
}

bool CudaDevice::isDone(const Event& event) {
  const CudaPointRef point = static_cast<const CudaEvent&>(event).point();
  return !point || point->queue->isDone(*point.get());
}

std::exception_ptr CudaDevice::failureOf(const Event& event) {
  const CudaPointRef point = static_cast<const CudaEvent&>(event).point();
  return point && point->is_issued.load() && point->failure != nullptr ? point->failure->cause : nullptr;
}

}  // namespace tokamak
