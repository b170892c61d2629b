#include "runtime/cpu/stream_queue.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <utility>

#include "base/require.h"
#include "base/start_threads.h"
#include "device/work.h"
#include "runtime/cpu/futex.h"
#include "runtime/cpu/stream_edges.h"

namespace tokamak {

namespace {

constexpr size_t kFailuresKept = 4096;
constexpr int64_t kBytesPerBlock = 256 * 1024;  // of a copy or fill that the pool shares out

thread_local const StreamQueue* queue_run_here = nullptr;
thread_local const StreamQueue* queue_entered_here = nullptr;

// As StreamQueue::RecordKind; a launch is called like its work.
constexpr std::string_view kRecordNames[] = {"record",   "wait",       "copy",      "fill", "launch",
                                             "callback", "write flag", "wait flag", "reset"};

// Streams of this process that sleep until a flag changes; while there are none, writing a flag needs no system call.
std::atomic<int> flag_sleepers = 0;

uint32_t recordBytes(size_t bytes) {
  return static_cast<uint32_t>((bytes + WorkRing::kAlignment - 1) / WorkRing::kAlignment * WorkRing::kAlignment);
}

bool isOverlapping(const void* a, const void* b, int64_t bytes) {
  const auto first = reinterpret_cast<uintptr_t>(a);
  const auto second = reinterpret_cast<uintptr_t>(b);
  return (first < second ? second - first : first - second) < static_cast<uintptr_t>(bytes);
}

// Tells of what runs while it lives, if somebody observes the device. `describe` gives it, without times.
template <class Describe>
class Observed {
 public:
  Observed(const WorkObserverSlot* slot, const Describe& describe)
      : observer_(slot == nullptr ? nullptr : slot->load(std::memory_order_acquire)), describe_(describe) {
    if (observer_ != nullptr) [[unlikely]]
      begin_ns_ = traceNow();
  }
  Observed(const Observed&) = delete;
  Observed& operator=(const Observed&) = delete;
  ~Observed() {
    if (observer_ != nullptr) [[unlikely]]
      tell();
  }

 private:
  void tell() const {
    WorkSpan span = describe_();
    span.begin_ns = begin_ns_;
    span.end_ns = traceNow();
    observer_->onWork(span);
  }

  WorkObserver* const observer_;
  const Describe& describe_;
  int64_t begin_ns_ = 0;
};

// `move(begin, bytes)` over the whole range, in blocks when it is long.
template <class Move>
void inBlocks(BlockPool& pool, int64_t bytes, const Move& move) {
  const int64_t blocks = (bytes + kBytesPerBlock - 1) / kBytesPerBlock;
  pool.parallelFor(blocks, [&](int64_t block) {
    const int64_t begin = block * kBytesPerBlock;
    move(begin, static_cast<size_t>(std::min(kBytesPerBlock, bytes - begin)));
  });
}

uint64_t loadFlag(const uint64_t* flag) {
  return std::atomic_ref(*const_cast<uint64_t*>(flag)).load(std::memory_order_acquire);
}

void storeFlag(uint64_t* flag, uint64_t value) {
  std::atomic_ref(*flag).store(value, std::memory_order_seq_cst);
  if (flag_sleepers.load(std::memory_order_seq_cst) != 0) futexWake(flag, std::numeric_limits<int>::max());
}

// Whoever writes the flag may be another process or a device, and wake nobody: each sleep is short.
void waitForFlag(const uint64_t* flag, uint64_t value) {
  if (spinUntil([&] { return loadFlag(flag) >= value; })) return;
  flag_sleepers.fetch_add(1, std::memory_order_seq_cst);
  for (uint64_t seen = loadFlag(flag); seen < value; seen = loadFlag(flag)) {
    const auto* const low_word = reinterpret_cast<const uint32_t*>(flag);
    futexWaitFor(low_word, static_cast<uint32_t>(seen), std::chrono::microseconds(100));
  }
  flag_sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace

struct StreamQueue::WaitRecord : Record {
  StreamPoint point;
  WaitFor what = WaitFor::Everything;
};
struct StreamQueue::CopyRecord : Record {
  void* to = nullptr;
  const void* from = nullptr;
  int64_t bytes_to_copy = 0;
};
struct StreamQueue::FillRecord : Record {
  void* to = nullptr;
  int64_t bytes_to_fill = 0;
};
struct StreamQueue::LaunchRecord : Record {
  const CpuWork* work = nullptr;
  void** many = nullptr;  // addresses that the ring has no room for; the record's
  void** addresses() { return many != nullptr ? many : reinterpret_cast<void**>(this + 1); }
};
struct StreamQueue::CallbackRecord : Record {
  std::function<void()> function;
};
struct StreamQueue::FlagRecord : Record {
  uint64_t* flag = nullptr;
  uint64_t value = 0;
};

StreamQueue::StreamQueue(int64_t index, const StreamQueueOptions& options)
    : index_(index),
      options_(options),
      makes_marks_(kThreadSanitizer || options.trace != nullptr),
      ring_(options.ring_bytes),
      own_pool_(options.pool == nullptr ? std::make_unique<BlockPool>(options.threads, options.parallel_for) : nullptr),
      pool_(options.pool == nullptr ? *own_pool_ : *options.pool) {
  worker_ = startThread("cpu stream", [this] { runAll(); });
}

StreamQueue::~StreamQueue() {
  if (isOfAnotherProcess()) {
    abandonThread(worker_);
    return;
  }
  ring_.close();
  worker_.join();
}

bool StreamQueue::isGuestHere() const { return queue_entered_here == this; }

// The ring is looked at under the issuing lock, and the worker looks for guests after it has found a record: whatever
// is issued later waits.
bool StreamQueue::tryEnter() {
  if (options_.trace != nullptr || queue_run_here != nullptr || queue_entered_here != nullptr) return false;
  {
    const HideFromSanitizer hide;
    const std::lock_guard lock(issue_lock_);
    if (has_guest_.load() != 0 || !ring_.isDone(ring_.end())) return false;
    if (failure_ != nullptr && !failure_->isOverAt(options_.raise_count->load())) return false;
    has_guest_.store(1);
  }
  receiveEdge(&ring_);
  queue_entered_here = this;
  return true;
}

// The failure becomes work of the stream's, so that points before it have not failed, and later ones have.
void StreamQueue::leave() {
  if (!isGuestHere()) return;
  const std::exception_ptr failure = std::exchange(guests_failure_, nullptr);
  queue_entered_here = nullptr;
  sendEdge(&has_guest_);
  {
    const HideFromSanitizer hide;
    has_guest_.store(0);
    has_guest_.notify_all();
  }
  if (failure != nullptr) issueCallback([failure] { std::rethrow_exception(failure); });
}

// False where it has to be issued.
template <class Work>
bool StreamQueue::tryRunAsGuest(const Work& work) {
  if (!isGuestHere()) return false;
  if (guests_failure_ != nullptr) return true;  // skipped
  try {
    work();
  } catch (...) {
    guests_failure_ = std::current_exception();
  }
  return true;
}

void StreamQueue::waitForGuest() const {
  const HideFromSanitizer hide;
  while (has_guest_.load() != 0) has_guest_.wait(1);
}

// Reserves, builds and publishes one record; the part that ThreadSanitizer may see is the edge from here to the run.
template <class R, class Build>
uint64_t StreamQueue::issue(RecordKind kind, size_t extra_bytes, const Build& build) {
  static_assert(alignof(R) <= WorkRing::kAlignment);
  if (isGuestHere()) leave();  // what it runs later comes behind this
  const uint32_t bytes = recordBytes(sizeof(R) + extra_bytes);
  std::byte* place = nullptr;
  {
    const HideFromSanitizer hide;
    issue_lock_.lock();
    while ((place = ring_.tryReserve(bytes)) == nullptr) {
      const uint64_t room = ring_.roomPosition();
      issue_lock_.unlock();  // a callback of this stream must not find it taken
      TK_REQUIRE(!isRunHere(), Device, "stream {}: a callback enqueued more on its own stream than fits; {} bytes fit",
                 index_, options_.ring_bytes);
      ring_.waitDone(room);
      issue_lock_.lock();
    }
    R* const record = new (place) R;
    record->bytes = bytes;
    record->kind = kind;
    record->raise_count = options_.raise_count->load();
    build(*record);
  }
  sendEdge(place);
  const HideFromSanitizer hide;
  ring_.publish();
  const uint64_t end = ring_.end();
  issue_lock_.unlock();
  return end;
}

void StreamQueue::issueWait(const StreamPoint& point, WaitFor what) {
  issue<WaitRecord>(RecordKind::Wait, 0, [&](WaitRecord& record) {
    record.point = point;
    record.what = what;
  });
}

void StreamQueue::issueCopy(void* to, const void* from, int64_t bytes) {
  const auto build = [&](CopyRecord& record) {
    record.to = to;
    record.from = from;
    record.bytes_to_copy = bytes;
  };
  const auto runHere = [&] {
    CopyRecord record;
    build(record);
    runCopy(record);
  };
  if (!tryRunAsGuest(runHere)) issue<CopyRecord>(RecordKind::Copy, 0, build);
}

void StreamQueue::issueFill(void* to, uint8_t byte, int64_t bytes) {
  const auto build = [&](FillRecord& record) {
    record.byte = byte;
    record.to = to;
    record.bytes_to_fill = bytes;
  };
  const auto runHere = [&] {
    FillRecord record;
    build(record);
    runFill(record);
  };
  if (!tryRunAsGuest(runHere)) issue<FillRecord>(RecordKind::Fill, 0, build);
}

void StreamQueue::issueLaunch(const CpuWork& work, std::span<void* const> addresses) {
  if (isGuestHere() && guests_failure_ != nullptr) return work.skip(guests_failure_);
  if (tryRunAsGuest([&] { runLaunch(work, addresses.data()); })) return;
  const size_t extra = addresses.size_bytes();
  const bool has_many = sizeof(LaunchRecord) + extra > ring_.maxRecordBytes();  // thousands of operands
  auto many = has_many ? std::make_unique<void*[]>(addresses.size()) : nullptr;
  issue<LaunchRecord>(RecordKind::Launch, has_many ? 0 : extra, [&](LaunchRecord& record) {
    record.work = &work;
    record.many = many.release();
    std::ranges::copy(addresses, record.addresses());
  });
}

void StreamQueue::issueCallback(std::function<void()> function) {
  issue<CallbackRecord>(RecordKind::Callback, 0, [&](CallbackRecord& record) { record.function.swap(function); });
}

void StreamQueue::issueWriteFlag(uint64_t* flag, uint64_t value) {
  issue<FlagRecord>(RecordKind::WriteFlag, 0, [&](FlagRecord& record) {
    record.flag = flag;
    record.value = value;
  });
}

void StreamQueue::issueWaitFlag(const uint64_t* flag, uint64_t value) {
  issue<FlagRecord>(RecordKind::WaitFlag, 0, [&](FlagRecord& record) {
    record.flag = const_cast<uint64_t*>(flag);  // only read
    record.value = value;
  });
}

void StreamQueue::issueReset() {
  {
    const HideFromSanitizer hide;
    const std::lock_guard lock(issue_lock_);
    if (has_guest_.load() == 0 && ring_.isDone(ring_.end()) && failure_ == nullptr) return;
  }
  issue<Record>(RecordKind::Reset, 0, [](Record&) {});
}

// Without ThreadSanitizer and timeline a point is a position, and recording one costs a load. With them it is a record:
// the edge then carries what the stream did before the point, and nothing later.
uint64_t StreamQueue::mark() {
  if (isGuestHere() && guests_failure_ != nullptr) leave();
  const bool is_position = !makes_marks_ && (has_guest_.load() == 0 || isGuestHere());
  if (is_position) return ring_.end();
  return issue<Record>(RecordKind::Mark, 0, [](Record&) {});
}

bool StreamQueue::waitDone(uint64_t point) {
  if (isRunHere()) return ring_.isDone(point);
  if (isOfAnotherProcess()) return true;
  const HideFromSanitizer hide;
  ring_.waitDone(point);
  return true;
}

void StreamQueue::receive(uint64_t point) const {
  if (kThreadSanitizer && point != 0) receiveEdge(ring_.placeBefore(point, recordBytes(sizeof(Record))));
}

bool StreamQueue::isRunHere() const { return queue_run_here == this; }

void StreamQueue::runAll() {
  queue_run_here = this;
  while (true) {
    Record* record = nullptr;
    {
      const HideFromSanitizer hide;
      record = reinterpret_cast<Record*>(ring_.waitForRecord());
    }
    if (record == nullptr) return;
    waitForGuest();
    receiveEdge(record);
    receiveEdge(&has_guest_);
    if (!isToldToTrace(*record)) {
      execute(*record);
    } else {
      const int64_t begin = traceNow();
      const std::string name(traceName(*record));
      execute(*record);
      options_.trace->span(index_, name, begin, traceNow());
    }
    sendEdge(&ring_);
    const HideFromSanitizer hide;
    ring_.finish();
  }
}

// Waits and flag writes happen even when the stream skips work: others rely on what was before them being over.
void StreamQueue::execute(Record& record) {
  const Range range(rangeName(record));
  const bool is_skipping = isSkipping(record);
  switch (record.kind) {
    case RecordKind::Mark:
      sendEdge(&record);
      if (options_.trace != nullptr) {
        const uint64_t point = ring_.runPosition() + recordBytes(sizeof(Record));
        options_.trace->flowBegin(index_, (static_cast<uint64_t>(index_) << 40U) + point, traceNow());
      }
      return;
    case RecordKind::Wait: return runWait(static_cast<WaitRecord&>(record), is_skipping);
    case RecordKind::WriteFlag: {
      const auto& write = static_cast<FlagRecord&>(record);
      return storeFlag(write.flag, write.value);
    }
    case RecordKind::Reset: return startAnew();
    default: break;
  }
  if (is_skipping) return skip(record);
  try {
    runWork(record);
  } catch (...) {
    fail(std::make_shared<AsyncFailure>(std::current_exception()));
  }
}

void StreamQueue::skip(Record& record) {
  noteSkipped(record);
  if (record.kind == RecordKind::Callback) static_cast<CallbackRecord&>(record).~CallbackRecord();
  if (record.kind != RecordKind::Launch) return;
  const auto& launch = static_cast<LaunchRecord&>(record);
  launch.work->skip(failure_->cause);
  delete[] launch.many;
}

void StreamQueue::runWork(Record& record) {
  switch (record.kind) {
    case RecordKind::Copy: return runCopy(static_cast<CopyRecord&>(record));
    case RecordKind::Fill: return runFill(static_cast<FillRecord&>(record));
    case RecordKind::Launch: {
      auto& launch = static_cast<LaunchRecord&>(record);
      const std::unique_ptr<void*[]> many(launch.many);
      return runLaunch(*launch.work, launch.addresses());
    }
    case RecordKind::Callback: return runCallback(static_cast<CallbackRecord&>(record));
    case RecordKind::WaitFlag: {
      const auto& wait = static_cast<FlagRecord&>(record);
      return waitForFlag(wait.flag, wait.value);
    }
    default: TK_CHECK(false, "stream {}: record kind {} is not work", index_, static_cast<int>(record.kind));
  }
}

void StreamQueue::runWait(const WaitRecord& record, bool is_skipping) {
  StreamQueue& other = *record.point.queue;
  if (record.what != WaitFor::Failure) {
    other.waitDone(record.point.position);
    other.receive(record.point.position);
    if (options_.trace != nullptr) {
      const uint64_t flow = (static_cast<uint64_t>(other.index()) << 40U) + record.point.position;
      options_.trace->flowEnd(index_, flow, traceNow());
    }
  }
  if (record.what == WaitFor::Order || is_skipping) return;  // the first cause is kept
  std::shared_ptr<AsyncFailure> failure = other.failureAt(record.point);
  if (failure == nullptr) return;
  // Somebody was told, but what was to be written before the point is not there.
  if (failure->isOverAt(record.raise_count)) failure = std::make_shared<AsyncFailure>(skippedBecauseOf(failure->cause));
  fail(std::move(failure));
}

void StreamQueue::runLaunch(const CpuWork& work, void* const* addresses) {
  const auto describe = [&] { return WorkSpan{.stream = index_, .name = work.label(), .bytes = work.operandBytes()}; };
  const Observed observed(options_.observer, describe);
  work.run(addresses, pool_);
}

void StreamQueue::runCopy(const CopyRecord& record) {
  const auto describe = [&] { return WorkSpan{.stream = index_, .name = "copy", .bytes = 2 * record.bytes_to_copy}; };
  const Observed observed(options_.observer, describe);
  auto* const to = static_cast<std::byte*>(record.to);
  const auto* const from = static_cast<const std::byte*>(record.from);
  if (isOverlapping(to, from, record.bytes_to_copy)) {
    std::memmove(to, from, static_cast<size_t>(record.bytes_to_copy));
    return;
  }
  inBlocks(pool_, record.bytes_to_copy,
           [&](int64_t begin, size_t bytes) { std::memcpy(to + begin, from + begin, bytes); });
}

void StreamQueue::runFill(const FillRecord& record) {
  const auto describe = [&] { return WorkSpan{.stream = index_, .name = "fill", .bytes = record.bytes_to_fill}; };
  const Observed observed(options_.observer, describe);
  auto* const to = static_cast<std::byte*>(record.to);
  inBlocks(pool_, record.bytes_to_fill,
           [&](int64_t begin, size_t bytes) { std::memset(to + begin, record.byte, bytes); });
}

// What the function holds is given up before the stream goes on, also when it throws.
void StreamQueue::runCallback(CallbackRecord& record) {
  const std::function<void()> function = std::move(record.function);
  record.~CallbackRecord();
  function();
}

// A failure that was raised is over for work issued since. A call of another thread's that began before may still issue
// work behind that.
bool StreamQueue::isSkipping(const Record& record) {
  if (failure_ == nullptr) return false;
  const HideFromSanitizer hide;
  const bool is_over = failure_->isOverAt(record.raise_count);
  if (is_over && is_range_open_) closeRange();
  if (!is_over && !is_range_open_) openRange();
  return !is_over;
}

void StreamQueue::noteSkipped(const Record& record) {
  const HideFromSanitizer hide;
  const std::lock_guard lock(failed_lock_);
  failed_.back().skipped = ring_.runPosition() + record.bytes;
}

void StreamQueue::closeRange() {
  const std::lock_guard lock(failed_lock_);
  failed_.back().end = ring_.runPosition();
  is_range_open_ = false;
}

// Where too many are kept, the two oldest become one, and all between fails: nothing that failed is forgotten.
void StreamQueue::openRange() {
  const std::lock_guard lock(failed_lock_);
  if (failed_.size() == kFailuresKept) {
    FailedRange& kept = failed_[1];
    kept.begin = failed_[0].begin;
    kept.failure = std::make_shared<AsyncFailure>(skippedBecauseOf(failed_[0].failure->cause));
    failed_.erase(failed_.begin());
  }
  failed_.push_back({.begin = ring_.runPosition(), .end = std::numeric_limits<uint64_t>::max(), .failure = failure_});
  is_range_open_ = true;
  has_failed_.store(true);
}

// The new user is told nothing of what was before.
void StreamQueue::startAnew() {
  const HideFromSanitizer hide;
  if (failure_ == nullptr) return;
  if (is_range_open_) closeRange();
  failure_ = nullptr;
  noteTold(ring_.runPosition());
}

void StreamQueue::fail(std::shared_ptr<AsyncFailure> failure) {
  sendEdge(failure.get());  // the lock hands it over, which is hidden
  const HideFromSanitizer hide;
  failure_ = std::move(failure);
  if (is_range_open_) closeRange();
  openRange();
}

std::shared_ptr<AsyncFailure> StreamQueue::failureAt(const StreamPoint& point) const {
  std::shared_ptr<AsyncFailure> failure = failureKeptFor(point);
  if (failure != nullptr) receiveEdge(failure.get());
  return failure;
}

std::shared_ptr<AsyncFailure> StreamQueue::failureKeptFor(const StreamPoint& point) const {
  const HideFromSanitizer hide;
  if (!has_failed_.load()) return nullptr;
  const std::lock_guard lock(failed_lock_);
  auto found = std::ranges::lower_bound(failed_, point.position, {}, &FailedRange::begin);
  if (found == failed_.begin()) return nullptr;
  --found;  // the last that begins before the point
  return point.position <= found->end && !found->failure->isOverAt(point.raise_count) ? found->failure : nullptr;
}

void StreamQueue::noteTold(uint64_t position) {
  const HideFromSanitizer hide;
  const std::lock_guard lock(failed_lock_);
  told_until_ = std::max(told_until_, position);
}

std::shared_ptr<AsyncFailure> StreamQueue::takeUntold(const StreamPoint& point) {
  const HideFromSanitizer hide;
  if (!has_failed_.load()) return nullptr;
  const std::lock_guard lock(failed_lock_);
  const auto isAtPoint = [&](const FailedRange& range) {
    return range.begin < point.position && point.position <= range.end && range.failure->raised.load() == 0;
  };
  const auto hasUntold = [&](const FailedRange& range) {
    return range.begin < point.position && std::min(range.skipped, point.position) > told_until_;
  };
  // Because of the failure at the point work is skipped until it is raised.
  auto found = std::ranges::find_if(failed_, isAtPoint);
  if (found == failed_.end()) found = std::ranges::find_if(failed_, hasUntold);
  const std::shared_ptr<AsyncFailure> failure = found == failed_.end() ? nullptr : found->failure;
  told_until_ = std::max(told_until_, point.position);
  return failure;
}

// What only takes a failure over is nothing that a timeline shows.
bool StreamQueue::isToldToTrace(const Record& record) const {
  if (options_.trace == nullptr) return false;
  return record.kind != RecordKind::Wait || static_cast<const WaitRecord&>(record).what != WaitFor::Failure;
}

std::string_view StreamQueue::traceName(const Record& record) {
  if (record.kind == RecordKind::Launch) return static_cast<const LaunchRecord&>(record).work->name();
  return kRecordNames[static_cast<size_t>(record.kind)];
}

// Made by whichever stream comes first: no order between streams that ThreadSanitizer may count on.
RangeName StreamQueue::rangeName(const Record& record) {
  const HideFromSanitizer hide;
  if (record.kind == RecordKind::Launch) return static_cast<const LaunchRecord&>(record).work->rangeName();
  static const std::array names = rangeNames(kRecordNames);
  return names[static_cast<size_t>(record.kind)];
}

}  // namespace tokamak
