// One stream of the CPU device: a ring of records and the thread that runs them in order.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/home_process.h"
#include "base/profiler_range.h"
#include "base/spin_lock.h"
#include "base/trace.h"
#include "device/arena.h"
#include "device/failure.h"
#include "device/work.h"
#include "device/work_observer.h"
#include "runtime/cpu/block_pool.h"
#include "runtime/cpu/cpu_work.h"
#include "runtime/cpu/work_ring.h"

namespace tokamak {

class StreamQueue;

/// A point in a stream's work. Queues live as long as their device, so a point never dangles.
struct StreamPoint {
  StreamQueue* queue = nullptr;  ///< null: nothing to wait for
  uint64_t position = 0;
  uint32_t raise_count = 0;  ///< when it was recorded: what was raised before is not its failure
};

/// What the queues of one device share.
struct StreamQueueOptions {
  BlockPool* pool = nullptr;  ///< null: each queue has its own of `threads`
  int64_t threads = 1;
  std::shared_ptr<ParallelFor> parallel_for = nullptr;  ///< of a pool of its own
  uint32_t ring_bytes = 1U << 16U;
  TraceObserver* trace = nullptr;
  const RaiseCount* raise_count = nullptr;  ///< of the device
  const WorkObserverSlot* observer = nullptr;
};

/// Any thread may call the issuing functions, callbacks of this stream included. They block while the ring is full, and
/// do not allocate on the heap.
class StreamQueue final : public StreamClock {
 public:
  StreamQueue(int64_t index, const StreamQueueOptions& options);
  StreamQueue(const StreamQueue&) = delete;
  StreamQueue& operator=(const StreamQueue&) = delete;
  ~StreamQueue() override;

  void issueWait(const StreamPoint& point, WaitFor what);
  void issueCopy(void* to, const void* from, int64_t bytes);
  void issueFill(void* to, uint8_t byte, int64_t bytes);
  void issueLaunch(const CpuWork& work, std::span<void* const> addresses);
  void issueCallback(std::function<void()> function);
  void issueWriteFlag(uint64_t* flag, uint64_t value);
  void issueWaitFlag(const uint64_t* flag, uint64_t value);
  /// Clears failures for a new user of the queue. Costs nothing if all work is done and none failed.
  void issueReset();

  /// Makes the calling thread the queue's guest, if no work is left and none failed. Its launches, fills and copies run
  /// at once on this thread, until it issues something else or leaves. Work of other threads runs after that.
  bool tryEnter();
  void leave();

  int64_t index() const override { return index_; }
  /// The point after everything issued so far.
  uint64_t mark();
  bool isDone(uint64_t point) const override { return ring_.isDone(point); }
  bool waitDone(uint64_t point) override;
  /// After waiting: the stream's work before `point` happens before what this thread does next.
  void receive(uint64_t point) const;

  /// Whether the calling thread is the one that runs this queue.
  bool isRunHere() const;
  /// Whether this is a forked child, without the queue's thread: waits return at once.
  bool isOfAnotherProcess() const { return !home_.isHere(); }
  /// The failure of work before a point of this queue, or because of which it was skipped; or null.
  std::shared_ptr<AsyncFailure> failureAt(const StreamPoint& point) const;
  /// Notes that failures before `position` have been reported.
  void noteTold(uint64_t position);
  /// The unreported failure before `point`, or one because of which work was skipped since it was reported; or null. It
  /// counts as reported then.
  std::shared_ptr<AsyncFailure> takeUntold(const StreamPoint& point);

 private:
  enum class RecordKind : uint8_t { Mark, Wait, Copy, Fill, Launch, Callback, WriteFlag, WaitFlag, Reset };
  struct Record : RingRecord {
    RecordKind kind = RecordKind::Mark;
    uint8_t byte = 0;
    uint32_t raise_count = 0;  // when issued
  };
  struct WaitRecord;
  struct CopyRecord;
  struct FillRecord;
  struct LaunchRecord;
  struct CallbackRecord;
  struct FlagRecord;
  struct FailedRange {
    uint64_t begin = 0;  // points after `begin` up to `end` are behind failed or skipped work
    uint64_t end = 0;
    uint64_t skipped = 0;  // the point after the last work that was skipped; 0: none
    std::shared_ptr<AsyncFailure> failure;
  };

  template <class R, class Build>
  uint64_t issue(RecordKind kind, size_t extra_bytes, const Build& build);

  bool isGuestHere() const;
  template <class Work>
  bool tryRunAsGuest(const Work& work);
  void waitForGuest() const;
  void runAll();
  void execute(Record& record);
  void skip(Record& record);
  void runWork(Record& record);
  void runWait(const WaitRecord& record, bool is_skipping);
  void runLaunch(const CpuWork& work, void* const* addresses);
  void runCopy(const CopyRecord& record);
  void runFill(const FillRecord& record);
  void runCallback(CallbackRecord& record);
  bool isSkipping(const Record& record);
  void noteSkipped(const Record& record);
  void closeRange();
  std::shared_ptr<AsyncFailure> failureKeptFor(const StreamPoint& point) const;
  void openRange();
  void startAnew();
  void fail(std::shared_ptr<AsyncFailure> failure);
  bool isToldToTrace(const Record& record) const;
  static std::string_view traceName(const Record& record);
  static RangeName rangeName(const Record& record);

  const int64_t index_;
  const HomeProcess home_;
  const StreamQueueOptions options_;
  const bool makes_marks_;
  WorkRing ring_;
  SpinLock issue_lock_;

  std::unique_ptr<BlockPool> own_pool_;
  BlockPool& pool_;
  std::shared_ptr<AsyncFailure> failure_;  // the worker's: why it skips what was issued before that was raised
  bool is_range_open_ = false;             // the last of failed_ has no end yet

  std::atomic<uint32_t> has_guest_ = 0;
  std::exception_ptr guests_failure_;  // not yet issued

  std::atomic<bool> has_failed_ = false;  // ever
  mutable SpinLock failed_lock_;
  std::vector<FailedRange> failed_;  // in their order
  uint64_t told_until_ = 0;

  std::thread worker_;
};

}  // namespace tokamak
