#include "runtime/cpu/cpu_device.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/require.h"
#include "base/usable_processors.h"
#include "device/hazard_tracker.h"
#include "device/in_flight_calls.h"
#include "device/work.h"
#include "runtime/cpu/block_pool.h"
#include "runtime/cpu/stream_edges.h"

namespace tokamak {

namespace {

constexpr uint8_t kPoison = 0xFF;
constexpr int64_t kHugePage = 2 * 1024 * 1024;

int64_t machineMemory() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(sysconf(_SC_PAGESIZE));
}

std::string processorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

CpuDeviceOptions checked(CpuDeviceOptions options) {
  TK_REQUIRE(options.threads >= 0 && options.threads <= BlockPool::kMostThreads, Usage,
             "cpu device: {} threads were asked for; legal are 1 to {}, and 0 for one per usable processor",
             options.threads, BlockPool::kMostThreads);
  TK_REQUIRE(options.memory_limit >= 0, Usage,
             "cpu device: a memory limit of {} bytes was asked for; 0 is the machine's memory", options.memory_limit);
  TK_REQUIRE(options.ring_bytes >= 256 && options.ring_bytes <= (1 << 30) &&
                 std::has_single_bit(static_cast<uint64_t>(options.ring_bytes)),
             Usage, "cpu device: rings of {} bytes were asked for; legal are powers of two from 256 to 2^30",
             options.ring_bytes);
  if (options.threads == 0) options.threads = usableProcessors();
  if (options.memory_limit == 0) options.memory_limit = machineMemory();
  return options;
}

void requireSize(const char* operation, int64_t bytes) {
  TK_REQUIRE(bytes >= 0, Usage, "{}: {} bytes were asked for; a size is not negative", operation, bytes);
}

}  // namespace

class CpuDevice::CpuStream final : public Stream {
 public:
  CpuStream(CpuDevice& device, StreamQueue& queue) : device_(device), queue_(queue) {}
  CpuStream(const CpuStream&) = delete;
  CpuStream& operator=(const CpuStream&) = delete;
  ~CpuStream() override { device_.giveBack(queue_); }
  StreamQueue& queue() const { return queue_; }

 private:
  CpuDevice& device_;
  StreamQueue& queue_;
};

class CpuDevice::CpuEvent final : public Event {
 public:
  StreamPoint point() const {
    const HideFromSanitizer hide;
    const std::lock_guard lock(lock_);
    return point_;
  }
  void set(const StreamPoint& point) {
    const HideFromSanitizer hide;
    const std::lock_guard lock(lock_);
    point_ = point;
    is_told_ = false;
  }
  /// Whether nobody was told yet of what failed before the event; from now on somebody was.
  bool takeTelling() const {
    const HideFromSanitizer hide;
    const std::lock_guard lock(lock_);
    return !std::exchange(is_told_, true);
  }

 private:
  mutable SpinLock lock_;
  StreamPoint point_;
  mutable bool is_told_ = false;
};

// Large blocks use huge pages, as page faults of 4 KiB pages cost more than the work on them.
void* CpuDevice::HostMemory::allocate(int64_t bytes, MemoryKind /*kind*/) {
  const bool is_large = bytes >= 2 * kHugePage;
  const size_t alignment = is_large ? kHugePage : 256;
  const size_t whole = (static_cast<size_t>(bytes) + alignment - 1) / alignment * alignment;
  void* const address = std::aligned_alloc(alignment, whole);
  if (is_large && address != nullptr) madvise(address, whole, MADV_HUGEPAGE);
  return address;
}

void CpuDevice::HostMemory::release(void* address, int64_t /*bytes*/, MemoryKind /*kind*/) { std::free(address); }

// The default target of kernels.
static KernelTarget targetOf(const CpuDeviceOptions& options) {
  if (options.target) return *options.target;
  return options.runner == KernelRunner::Interpreted ? hopperTarget() : cpuTarget(options.threads);
}

KernelTarget CpuDevice::kernelTarget() const { return targetOf(options_); }

CpuDevice::CpuDevice(const CpuDeviceOptions& options)
    : options_(checked(options)),
      arena_(memory_, options_.memory_limit),
      pool_(options_.threads, options_.parallel_for) {
  const bool is_interpreter = options_.runner == KernelRunner::Interpreted;
  properties_ = {.name = is_interpreter ? "interpreter" : "cpu",
                 .description = processorName(),
                 .threads = options_.threads,
                 .memory_bytes = options_.memory_limit,
                 .host_reads_device_memory = true,
                 .takes_parameters = true};
}

CpuDevice::~CpuDevice() { hazards().forgetAll(); }

std::unique_ptr<Stream> CpuDevice::makeStream() {
  const HideFromSanitizer hide;
  const std::lock_guard lock(queues_lock_);
  if (idle_queues_.empty()) {
    // Under ThreadSanitizer a shared pool would order streams that the model leaves unordered.
    const StreamQueueOptions queue_options = {.pool = kThreadSanitizer ? nullptr : &pool_,
                                              .threads = options_.threads,
                                              .parallel_for = options_.parallel_for,
                                              .ring_bytes = static_cast<uint32_t>(options_.ring_bytes),
                                              .trace = options_.trace,
                                              .raise_count = &raiseCount(),
                                              .observer = &workObserver()};
    const auto index = static_cast<int64_t>(queues_.size());
    idle_queues_.reserve(queues_.size() + 1);  // so that giving a stream back needs no memory
    idle_queues_.push_back(queues_.emplace_back(std::make_unique<StreamQueue>(index, queue_options)).get());
    if (options_.trace != nullptr) options_.trace->nameTrack(index, fmt::format("stream {}", index));
  }
  auto stream = std::make_unique<CpuStream>(*this, *idle_queues_.back());
  idle_queues_.pop_back();
  return stream;
}

bool CpuDevice::isWorkThread() const {
  const std::lock_guard lock(queues_lock_);
  return std::ranges::any_of(queues_, [](const auto& queue) { return queue->isRunHere(); });
}

void CpuDevice::giveBack(StreamQueue& queue) {
  if (queue.isOfAnotherProcess()) return;
  const uint64_t end = queue.mark();
  if (queue.waitDone(end)) queue.receive(end);
  queue.issueReset();
  const HideFromSanitizer hide;
  const std::lock_guard lock(queues_lock_);
  idle_queues_.push_back(&queue);
}

std::unique_ptr<Event> CpuDevice::createEvent() { return std::make_unique<CpuEvent>(); }

StreamQueue& CpuDevice::queueOf(Stream& stream) { return static_cast<CpuStream&>(stream).queue(); }

StreamQueue& CpuDevice::ownQueue(Stream& stream, std::string_view operation) const {
  requireOwn(stream, operation);
  return queueOf(stream);
}

void* CpuDevice::allocate(int64_t bytes, MemoryKind kind, Stream& stream) {
  StreamQueue& queue = ownQueue(stream, "allocate");
  ArenaBlock block;
  {
    const HideFromSanitizer hide;
    block = arena_.allocate(bytes, kind, queue);
  }
  // The other stream is past that point, so there is nothing to wait for; but it is an edge of the model.
  if (kThreadSanitizer && block.freed_on != nullptr) {
    queue.issueWait({static_cast<StreamQueue*>(block.freed_on), block.freed_at}, WaitFor::Order);
  }
  if (options_.poisons_memory && bytes > 0) queue.issueFill(block.address, kPoison, bytes);
  return block.address;
}

void CpuDevice::release(void* address, int64_t bytes, MemoryKind kind, Stream& stream) {
  StreamQueue& queue = queueOf(stream);
  const uint64_t point = queue.mark();
  const HideFromSanitizer hide;
  arena_.release(address, bytes, kind, queue, point);
}

MemoryStatistics CpuDevice::memoryStatistics(MemoryKind kind) const {
  const HideFromSanitizer hide;
  return arena_.statistics(kind);
}

void CpuDevice::trimMemory() {
  const HideFromSanitizer hide;
  arena_.trim();
}

void CpuDevice::record(Event& event, Stream& stream) {
  StreamQueue& queue = ownQueue(stream, "record");
  const uint32_t raise_count = raiseCount().load();
  static_cast<CpuEvent&>(event).set({&queue, queue.mark(), raise_count});
}

void CpuDevice::waitFor(Stream& stream, const Event& event, WaitFor what) const {
  const StreamPoint point = static_cast<const CpuEvent&>(event).point();
  StreamQueue& queue = ownQueue(stream, "wait");
  if (point.queue == nullptr) return;
  if (point.queue == &queue) what = what == WaitFor::Everything ? WaitFor::Failure : what;
  if (point.queue == &queue && what == WaitFor::Order) return;
  if (what == WaitFor::Failure) {
    const HideFromSanitizer hide;
    if (point.queue->isDone(point.position) && point.queue->failureAt(point) == nullptr) return;
  }
  queue.issueWait(point, what);
}

void CpuDevice::wait(Stream& stream, const Event& event) { waitFor(stream, event, WaitFor::Everything); }

void CpuDevice::waitOver(Stream& stream, const Event& event) { waitFor(stream, event, WaitFor::Order); }

void CpuDevice::takeFailure(Stream& stream, const Event& event) { waitFor(stream, event, WaitFor::Failure); }

void CpuDevice::startAnew(Stream& stream) { ownQueue(stream, "start anew").issueReset(); }

void CpuDevice::copy(Stream& stream, void* to, const void* from, int64_t bytes) {
  requireSize("copy", bytes);
  if (bytes > 0) ownQueue(stream, "copy").issueCopy(to, from, bytes);
}

void CpuDevice::fill(Stream& stream, void* to, uint8_t byte, int64_t bytes) {
  requireSize("fill", bytes);
  if (bytes > 0) ownQueue(stream, "fill").issueFill(to, byte, bytes);
}

void CpuDevice::launch(Stream& stream, const Work& work, std::span<void* const> addresses) {
  StreamQueue& queue = ownQueue(stream, "launch");
  const auto& cpu_work = static_cast<const CpuWork&>(work);
  cpu_work.notePosted();
  queue.issueLaunch(cpu_work, addresses);
}

void CpuDevice::callback(Stream& stream, std::function<void()> function) {
  TK_REQUIRE(function != nullptr, Usage, "callback: an empty function was given; it has nothing to call");
  ownQueue(stream, "callback").issueCallback(std::move(function));
}

void CpuDevice::writeFlag(Stream& stream, uint64_t* flag, uint64_t value) {
  ownQueue(stream, "write flag").issueWriteFlag(flag, value);
}

void CpuDevice::waitFlag(Stream& stream, const uint64_t* flag, uint64_t value) {
  ownQueue(stream, "wait for flag").issueWaitFlag(flag, value);
}

void CpuDevice::synchronize(Stream& stream) {
  StreamQueue& queue = ownQueue(stream, "synchronize");
  const StreamPoint point = {&queue, queue.mark()};
  waitFor(point, "synchronize");
  inFlightCalls().letGoOfWhatIsDone();
  if (const auto failure = queue.takeUntold(point)) raiseCount().raise(*failure);
}

void CpuDevice::synchronize(const Event& event) {
  const auto& cpu_event = static_cast<const CpuEvent&>(event);
  const StreamPoint point = cpu_event.point();
  if (point.queue == nullptr) return;
  if (!isOfThisProcess() && !isDone(event)) requireProcess();
  waitFor(point, "synchronize");
  inFlightCalls().letGoOfWhatIsDone();
  const auto failure = point.queue->failureAt(point);
  if (failure == nullptr || !cpu_event.takeTelling()) return;
  point.queue->noteTold(point.position);
  raiseCount().raise(*failure);
}

void CpuDevice::waitDone(const Event& event) {
  const StreamPoint point = static_cast<const CpuEvent&>(event).point();
  if (point.queue != nullptr) waitFor(point, "wait");
}

bool CpuDevice::isDone(const Event& event) {
  const StreamPoint point = static_cast<const CpuEvent&>(event).point();
  if (point.queue == nullptr) return true;
  {
    const HideFromSanitizer hide;
    if (!point.queue->isDone(point.position)) return false;
  }
  point.queue->receive(point.position);
  return true;
}

std::exception_ptr CpuDevice::failureOf(const Event& event) {
  const StreamPoint point = static_cast<const CpuEvent&>(event).point();
  const auto failure = point.queue == nullptr ? nullptr : point.queue->failureAt(point);
  return failure == nullptr ? nullptr : failure->cause;
}

bool CpuDevice::tryEnterStream(Stream& stream) { return queueOf(stream).tryEnter(); }

void CpuDevice::leaveStream(Stream& stream) { queueOf(stream).leave(); }

void CpuDevice::waitFor(const StreamPoint& point, const char* operation) {
  TK_REQUIRE(point.queue->waitDone(point.position), Device,
             "{}: a callback of stream {} waits for its own stream, which would never end", operation,
             point.queue->index());
  point.queue->receive(point.position);
}

}  // namespace tokamak
