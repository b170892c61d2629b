#include "runtime/cuda/cuda_queue.h"

#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "base/require.h"
#include "base/start_threads.h"
#include "base/wait_watch.h"
#include "device/work.h"
#include "runtime/cuda/cuda_host_work.h"
#include "runtime/cuda/cuda_trace.h"
#include "runtime/cuda/packed_steps.h"

namespace tokamak {

namespace {

thread_local const CudaQueue* cuda_queue_run_here = nullptr;

uint64_t loadDeviceFlag(const uint64_t* flag) {
  return std::atomic_ref(*const_cast<uint64_t*>(flag)).load(std::memory_order_acquire);
}

// Another process or a device may write the flag, without a wake-up. On a lost device it may never be written.
void waitForFlag(const DriverContext& context, const uint64_t* flag, uint64_t value) {
  constexpr int kSpins = 2000;
  for (int tries = 0; loadDeviceFlag(flag) < value; ++tries) {
    TK_REQUIRE(!context.isLost(), Device, "waiting for the flag at {} to be {}: {} is lost meanwhile",
               static_cast<const void*>(flag), value, context.name());
    if (tries < kSpins)
      spinPause();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

}  // namespace

CudaQueue::CudaQueue(int64_t index, DriverContext& context, const RaiseCount& raise_count)
    : index_(index), context_(context), raise_count_(raise_count) {
  const CurrentContext current(context_);
  const auto create = [&] { return context_.driver().stream_create(&stream_, driver::kStreamNonBlocking); };
  context_.check(context_.withRoom(create), "{}: creating a stream", context_.name());
}

CudaQueue::CudaQueue(int64_t index, DriverContext& context, const RaiseCount& raise_count, driver::Stream adopted)
    : index_(index), context_(context), raise_count_(raise_count), stream_(adopted), is_adopted_(true) {}

driver::Graph CudaQueue::askForGraph() const {
  int status = 0;
  uint64_t id = 0;
  driver::Graph graph = nullptr;
  const CurrentContext current(context_);
  context_.check(context_.driver().capture_info(stream_, &status, &id, &graph, nullptr, nullptr),
                 "{}, stream {}: asking whether it is captured", context_.name(), index_);
  return status == driver::kCaptureActive ? graph : nullptr;
}

CudaQueue::~CudaQueue() {
  if (!home_.isHere()) {  // the driver's context is the parent's, too
    abandonThread(thread_);
    // Their waiters are the parent's threads: neither may be destroyed.
    [[maybe_unused]] const auto* const wake = wake_.release();
    [[maybe_unused]] const auto* const changed = processed_changed_.release();
    return;
  }
  {
    const Lock lock(mutex_);
    is_closing_ = true;
  }
  wake_->notify_all();
  if (thread_.joinable()) thread_.join();
  context_.quietly([&](const DriverLibrary& driver) {
    if (is_left_ && gpu_position_.load() > done_.load()) driver.event_synchronize(probe_);
    if (probe_ != nullptr) driver.event_destroy(probe_);
    if (!is_adopted_) driver.stream_destroy(stream_);
  });
}

// Issues to the driver now, or after everything in the host's queue.
template <class Run>
void CudaQueue::issue(Kind kind, const Run& run) {
  const Lock lock(mutex_);
  if (isDeferring()) {
    return deferLocked(kind, [this, run](const Command& command) {
      const CurrentContext current(context_);
      gpu_position_.store(command.position);
      run();
    });
  }
  if (kind == Kind::Work && skips(raise_count_.load(), position_)) return;
  const CurrentContext current(context_);
  gpu_position_.store(++position_);
  run();
}

void CudaQueue::defer(Kind kind, std::function<void(const Command&)> run) {
  const Lock lock(mutex_);
  deferLocked(kind, std::move(run));
}

void CudaQueue::deferLocked(Kind kind, std::function<void(const Command&)> run, const CudaHostWork* host_work) {
  if (!thread_.joinable()) thread_ = startThread("cuda stream", [this] { runAll(); });
  if (!isDeferring()) processed_ = position_;
  commands_.push_back({.kind = kind,
                       .raise_count = raise_count_.load(),
                       .position = position_ + 1,
                       .run = std::move(run),
                       .host_work = host_work});
  ++position_;
  wake_->notify_one();
}

void CudaQueue::runAll() {
  cuda_queue_run_here = this;
  Lock lock(mutex_);
  while (true) {
    wake_->wait(lock, [this] { return is_closing_ || !commands_.empty(); });
    if (commands_.empty()) return;
    is_running_ = true;
    {
      Command command = std::move(commands_.front());
      commands_.pop_front();
      const bool runs = command.kind == Kind::Always || !skips(command.raise_count, command.position);
      const std::exception_ptr cause = runs ? nullptr : failure_->cause;
      lock.unlock();
      if (runs) execute(command);
      if (!runs && command.host_work != nullptr) command.host_work->skip(cause);
      command.run = nullptr;  // what it holds is given up before the stream goes on
      lock.lock();
      processed_ = command.position;
    }
    is_running_ = false;
    processed_changed_->notify_all();
  }
}

void CudaQueue::execute(Command& command) {
  try {
    command.run(command);
  } catch (...) {
    keepFailure(std::current_exception());
  }
}

// A raised failure does not affect work issued since. But a call that began before may still issue work, so the failure
// is kept.
bool CudaQueue::isSkipping(uint32_t raise_count) const {
  return failure_ != nullptr && !failure_->isOverAt(raise_count);
}

// Whether work is skipped; then the failure will be reported.
bool CudaQueue::skips(uint32_t raise_count, uint64_t position) {
  if (!isSkipping(raise_count)) return false;
  untold_ = failure_;
  untold_at_ = position;
  return true;
}

void CudaQueue::adopt(const std::shared_ptr<AsyncFailure>& failure, uint32_t raise_count) {
  if (failure == nullptr || isSkipping(raise_count)) return;
  // (The failure was reported, but memory that was to be written before the point was not.)
  failure_ =
      failure->isOverAt(raise_count) ? std::make_shared<AsyncFailure>(skippedBecauseOf(failure->cause)) : failure;
}

// The first cause is kept.
void CudaQueue::keepFailure(std::exception_ptr cause) {
  const Lock lock(mutex_);
  if (failure_ == nullptr || failure_->raised.load() != 0) failure_ = std::make_shared<AsyncFailure>(std::move(cause));
}

// `tell` tells the driver of work: a range of the host's time, and a span of the GPU's where that is traced.
template <class Tell>
void CudaQueue::told(std::string_view name, RangeName range_name, const Tell& tell) {
  const Range range(range_name);
  if (trace_ == nullptr) return tell();
  trace_->span(index_, stream_, name, tell);
}

// The name of a point in a timeline.
static uint64_t flowOf(const CudaPoint& point) {
  return (static_cast<uint64_t>(point.queue->index()) << 40U) + point.position;
}

void CudaQueue::recordNow(CudaPoint& point) {
  static const RangeName range_name("record");
  const Range range(range_name);
  if (trace_ != nullptr) trace_->flowBegin(index_, stream_, flowOf(point));
  context_.check(context_.driver().event_record(point.event, stream_), "{}, stream {}: recording an event",
                 context_.name(), index_);
}

void CudaQueue::waitNow(const CudaPoint& point) {
  static const RangeName range_name("wait");
  const Range range(range_name);
  const auto tell = [&] {
    context_.check(context_.driver().stream_wait_event(stream_, point.event, 0), "{}, stream {}: waiting for an event",
                   context_.name(), index_);
  };
  if (trace_ == nullptr) return tell();
  trace_->flowEnd(index_, stream_, flowOf(point), tell);
}

void CudaQueue::record(const CudaPointRef& point) {
  const Lock lock(mutex_);
  point->queue = this;
  point->position = position_ + 1;
  if (!isDeferring()) {
    const CurrentContext current(context_);
    recordNow(*point.get());
    gpu_position_.store(++position_);
    if (isSkipping(raise_count_.load())) point->failure = failure_;
    point->is_issued.store(true);
    return;
  }
  // Others wait for the point, so it is issued in any case.
  deferLocked(Kind::Always, [this, point](const Command& command) {
    try {
      const CurrentContext current(context_);
      gpu_position_.store(command.position);
      recordNow(*point.get());
    } catch (...) {
      keepFailure(std::current_exception());
    }
    {
      const Lock inner(mutex_);
      if (isSkipping(command.raise_count)) point->failure = failure_;
    }
    point->is_issued.store(true);
    point->is_issued.notify_all();
  });
}

void CudaQueue::wait(const CudaPointRef& point, WaitFor what) {
  const Lock lock(mutex_);
  if (point->is_issued.load() && !isDeferring()) {
    if (what != WaitFor::Order) adopt(point->failure, raise_count_.load());
    if (what == WaitFor::Failure) return;
    const CurrentContext current(context_);
    gpu_position_.store(++position_);
    return waitNow(*point.get());
  }
  deferLocked(Kind::Always, [this, point, what](const Command& command) {
    point->is_issued.wait(false);
    if (what != WaitFor::Order) {
      const Lock inner(mutex_);
      adopt(point->failure, command.raise_count);
    }
    if (what == WaitFor::Failure) return;
    const CurrentContext current(context_);
    gpu_position_.store(command.position);
    waitNow(*point.get());
  });
}

void CudaQueue::startAnewLocked() {
  failure_ = nullptr;
  untold_ = nullptr;
}

void CudaQueue::startAnew() {
  const Lock lock(mutex_);
  if (!isDeferring()) return startAnewLocked();
  deferLocked(Kind::Always, [this](const Command&) {
    const Lock inner(mutex_);
    startAnewLocked();
  });
}

void CudaQueue::copy(void* to, const void* from, int64_t bytes) {
  static const RangeName range_name("copy");
  issue(Kind::Work, [=, this] {
    const auto size = static_cast<size_t>(bytes);
    told("copy", range_name, [&] {
      context_.check(context_.driver().copy_async(addressOf(to), addressOf(from), size, stream_),
                     "{}: copying {} bytes from {} to {}", context_.name(), bytes, from, to);
    });
  });
}

// (The driver cannot access pageable memory.)
void CudaQueue::fill(void* to, uint8_t byte, int64_t bytes) {
  static const RangeName range_name("fill");
  const auto size = static_cast<size_t>(bytes);
  if (!context_.isKnown(to)) {
    return defer(Kind::Work, [=, this](const Command&) {
      finishGpuWork();
      std::memset(to, byte, size);
    });
  }
  issue(Kind::Work, [=, this] {
    told("fill", range_name, [&] {
      context_.check(context_.driver().fill_async(addressOf(to), byte, size, stream_), "{}: filling {} bytes at {}",
                     context_.name(), bytes, to);
    });
  });
}

void CudaQueue::launchOnThread(const CudaHostWork& work, std::span<void* const> addresses) {
  work.notePosted();
  const Lock lock(mutex_);
  const auto run = [this, &work, copies = std::vector<void*>(addresses.begin(), addresses.end())](const Command& at) {
    const CurrentContext current(context_);
    gpu_position_.store(at.position);
    told(work.name(), work.rangeName(), [&] { work.run(context_, stream_, copies); });
    noteDone(at.position);
  };
  deferLocked(Kind::Work, run, &work);
}

void CudaQueue::launch(const CudaWork& work, std::span<void* const> addresses) {
  if (const CudaHostWork* const host_work = work.hostWork()) return launchOnThread(*host_work, addresses);
  const Lock lock(mutex_);
  if (!isDeferring()) {
    if (skips(raise_count_.load(), position_)) return;
    const CurrentContext current(context_);
    gpu_position_.store(++position_);
    return told(work.name(), work.rangeName(), [&] { work.enqueue(context_, stream_, addresses); });
  }
  deferLocked(Kind::Work,
              [this, &work, copies = std::vector<void*>(addresses.begin(), addresses.end())](const Command& command) {
                const CurrentContext current(context_);
                gpu_position_.store(command.position);
                told(work.name(), work.rangeName(), [&] { work.enqueue(context_, stream_, copies); });
              });
}

void CudaQueue::launch(PackedStep& step) {
  step.makeReady(context_, stream_);
  if (step.work->hostWork() != nullptr) return launch(*step.work, step.values);
  const auto enqueue = [&] { step.enqueue(context_, stream_); };
  if (!tryIssue([&] { told(step.work->name(), step.work->rangeName(), enqueue); })) launch(*step.work, step.values);
}

void CudaQueue::callback(std::function<void()> function) {
  static const RangeName range_name("callback");
  defer(Kind::Work, [this, function = std::move(function)](const Command& command) {
    finishGpuWork();
    noteDone(command.position - 1);
    const Range range(range_name);
    function();
  });
}

void CudaQueue::writeFlag(uint64_t* flag, uint64_t value) {
  if (const auto address = context_.flagAddress(flag)) {
    return issue(Kind::Always, [=, this] {
      context_.check(context_.driver().stream_write_value(stream_, *address, value, driver::kWriteDefault),
                     "{}: writing the flag at {}", context_.name(), static_cast<void*>(flag));
    });
  }
  // The flag is written even after a failure, so that waits for it end.
  defer(Kind::Always, [=, this](const Command&) {
    std::exception_ptr cause;
    try {
      finishGpuWork();
    } catch (...) {
      cause = std::current_exception();
    }
    std::atomic_ref(*flag).store(value, std::memory_order_seq_cst);
    if (cause != nullptr) std::rethrow_exception(cause);
  });
}

void CudaQueue::waitFlag(const uint64_t* flag, uint64_t value) {
  if (const auto address = context_.flagAddress(flag)) {
    return issue(Kind::Work, [=, this] {
      context_.check(context_.driver().stream_wait_value(stream_, *address, value, driver::kWaitGreaterOrEqual),
                     "{}: waiting for the flag at {}", context_.name(), static_cast<const void*>(flag));
    });
  }
  defer(Kind::Work, [=, this](const Command&) { waitForFlag(context_, flag, value); });
}

// On the stream's thread, the only user of the driver's stream then.
void CudaQueue::finishGpuWork() {
  const uint64_t told = gpu_position_.load();
  if (told <= done_.load()) return;
  const CurrentContext current(context_);
  context_.check(context_.driver().stream_synchronize(stream_), "{}, stream {}: synchronize", context_.name(), index_);
  noteDone(told);
}

void CudaQueue::noteDone(uint64_t position) const {
  uint64_t seen = done_.load();
  while (seen < position && !done_.compare_exchange_weak(seen, position)) {
  }
}

bool CudaQueue::isRunHere() const { return cuda_queue_run_here == this; }

void CudaQueue::requireNotRunHere(const char* operation) const {
  TK_REQUIRE(!isRunHere(), Device, "{}: a callback of stream {} waits for its own stream, which would never end",
             operation, index_);
}

void CudaQueue::waitHandedOver() {
  if (isRunHere()) return;
  Lock lock(mutex_);
  const uint64_t target = position_;
  const auto isHandedOver = [&] { return issuedPosition() >= target; };
  WaitWatch* const watch = WaitWatch::here();
  while (watch != nullptr && !watch->isOver() && !processed_changed_->wait_for(lock, WaitWatch::kPause, isHandedOver)) {
    lock.unlock();
    watch->look();
    lock.lock();
  }
  processed_changed_->wait(lock, isHandedOver);
}

std::shared_ptr<AsyncFailure> CudaQueue::synchronize() {
  requireNotRunHere("synchronize");
  uint64_t target = 0;
  std::shared_ptr<AsyncFailure> failure;
  {
    Lock lock(mutex_);
    target = position_;
    processed_changed_->wait(lock, [&] { return issuedPosition() >= target; });
    const bool is_raised = failure_ == nullptr || failure_->raised.load() != 0;
    failure = !is_raised ? failure_ : untold_;
    untold_ = nullptr;
  }
  if (gpu_position_.load() > done_.load()) {
    const CurrentContext current(context_);
    context_.check(context_.driver().stream_synchronize(stream_), "{}, stream {}: synchronize", context_.name(),
                   index_);
  }
  noteDone(target);
  return failure;
}

void CudaQueue::synchronize(const CudaPoint& point) {
  if (!point.is_issued.load()) {
    requireNotRunHere("synchronize");
    point.is_issued.wait(false);
  }
  if (done_.load() >= point.position) return;
  const CurrentContext current(context_);
  context_.check(context_.driver().event_synchronize(point.event), "{}, stream {}: synchronize with an event",
                 context_.name(), index_);
  noteDone(point.position);
}

// On a lost context nothing runs any more; synchronize() reports it.
bool CudaQueue::isDone(const CudaPoint& point) {
  if (!point.is_issued.load()) return false;
  if (done_.load() >= point.position) return true;
  driver::Result status = driver::kSuccess;
  context_.quietly([&](const DriverLibrary& driver) { status = driver.event_query(point.event); });
  if (status == driver::kSuccess) noteDone(point.position);
  return status != driver::kNotReady;
}

void CudaQueue::reset() {
  try {
    if (!isRunHere() && capturedGraph() == nullptr) synchronize();
  } catch (const Error&) {  // the context is lost, and nobody synchronized for it
    noteDone(mark());
  }
  const Lock lock(mutex_);
  startAnewLocked();
}

void CudaQueue::addUser() {
  const Lock lock(mutex_);
  if (users_++ == 0) is_left_ = false;
}

// What asks about the stream's work later asks an event.
void CudaQueue::removeUser() {
  Lock lock(mutex_);
  if (--users_ > 0) return;
  startAnewLocked();
  if (isRunHere()) return;
  processed_changed_->wait(lock, [&] { return !isDeferring(); });
  if (users_ > 0) return;  // it was adopted meanwhile
  if (gpu_position_.load() <= done_.load()) {
    noteDone(position_);
    return;
  }
  bool is_recorded = false;
  const bool is_told = context_.quietly([&](const DriverLibrary& driver) {
    int status = 0;
    if (driver.capture_status(stream_, &status) != driver::kSuccess || status != 0) return;
    if (probe_ == nullptr && driver.event_create(&probe_, driver::kEventDisableTiming) != driver::kSuccess) return;
    is_recorded = driver.event_record(probe_, stream_) == driver::kSuccess;
  });
  if (!is_told) noteDone(position_);  // the context is lost: nothing runs any more
  is_left_ = is_recorded;
  if (is_recorded) probed_ = position_;
}

void CudaQueue::noteTold(const CudaPoint& point) {
  const Lock lock(mutex_);
  if (point.position > untold_at_) untold_ = nullptr;
}

uint64_t CudaQueue::mark() {
  const Lock lock(mutex_);
  return position_;
}

// Queries an event that is recorded only on demand, so that releases cost nothing.
driver::Result CudaQueue::probe(const DriverLibrary& driver, uint64_t issued) const {
  if (is_left_) return driver.event_query(probe_);
  if (is_adopted_) {  // an event must not become part of what somebody captures
    int status = 0;
    const driver::Result asked = driver.capture_status(stream_, &status);
    if (asked != driver::kSuccess || status != 0) return driver::kNotReady;
  }
  if (probe_ == nullptr) {
    const driver::Result created = driver.event_create(&probe_, driver::kEventDisableTiming);
    if (created != driver::kSuccess) return created;
  }
  if (probed_ == 0) {
    const driver::Result recorded = driver.event_record(probe_, stream_);
    if (recorded != driver::kSuccess) return recorded;
    probed_ = issued;
  }
  return driver.event_query(probe_);
}

// Called by the arena with its lock held: it does not wait for a queue whose lock is taken.
bool CudaQueue::isDone(uint64_t position) const {
  if (done_.load() >= position) return true;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  const uint64_t issued = issuedPosition();
  if (issued < position) return false;
  if (gpu_position_.load() <= done_.load()) {
    noteDone(issued);
    return true;
  }
  driver::Result status = driver::kNotReady;
  const bool is_asked = context_.quietly([&](const DriverLibrary& driver) { status = probe(driver, issued); });
  if (is_asked && status == driver::kSuccess) {
    noteDone(std::exchange(probed_, 0));
    return done_.load() >= position;
  }
  return is_asked && status != driver::kNotReady &&
         status != driver::kOutOfMemory;  // lost: nothing uses its memory any more
}

bool CudaQueue::waitDone(uint64_t position) {
  if (isRunHere()) return isDone(position);
  bool is_left = false;
  {
    Lock lock(mutex_);
    processed_changed_->wait(lock, [&] { return issuedPosition() >= position; });
    is_left = is_left_;
  }
  const CurrentContext current(context_);
  const DriverLibrary& driver = context_.driver();
  if ((is_left ? driver.event_synchronize(probe_) : driver.stream_synchronize(stream_)) == driver::kSuccess)
    noteDone(position);
  return true;
}

}  // namespace tokamak
