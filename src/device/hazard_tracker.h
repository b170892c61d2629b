// HazardTracker: who wrote and read each range of a device's memory last, so that calls on any streams are ordered
// (docs/call_order.md).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/spin_lock.h"
#include "device/device.h"

namespace tokamak {

class Buffer;
class Tensor;

enum class MemoryAccess : uint8_t {
  Read,
  Write,   ///< whatever was there before
  Update,  ///< of what is there: a read and a write
};

/// The end of a call, as later accesses wait for it. Others may find it before the call's work was enqueued; they wait
/// on the host until
/// it was.
/// Thread safety: any threads may ask and wait side by side.
class CallPoint {
 public:
  explicit CallPoint(std::unique_ptr<Event> event) : event_(std::move(event)) {}
  Event& event() const { return *event_; }
  const Stream* stream() const { return stream_.load(std::memory_order_relaxed); }
  bool isIssued() const { return state_.load(std::memory_order_acquire) == kIssued; }
  void waitUntilIssued() const;

 private:
  friend class HazardTracker;
  static constexpr uint32_t kIssued = 0;
  static constexpr uint32_t kIssuing = 1;
  void markIssued(uint64_t number);

  const std::unique_ptr<Event> event_;
  std::atomic<const Stream*> stream_ = nullptr;
  std::atomic<uint64_t> issued_as_ = 0;  // what the count of calls was then
  mutable std::atomic<uint32_t> state_ = kIssued;
  mutable std::atomic<uint32_t> waiters_ = 0;
};

/// What is known of a range of memory. Buffers that overlap share one, whoever made them.
struct TrackedMemory {
  struct Entry {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    uint64_t number = 0;                       ///< of the call: later ones have larger numbers
    MemoryAccess access = MemoryAccess::Read;  ///< or a write
    /// Of several accesses of one stream, or of none: it does not tell what its stream has waited for.
    bool is_hull = false;
    /// What failed before its point is not why these bytes are not there.
    bool is_order_only = false;
    bool is_told = false;  ///< somebody who waited for these bytes was told why they were not written
    std::shared_ptr<CallPoint> point;
  };
  uintptr_t begin = 0;
  uintptr_t end = 0;
  int64_t buffers = 0;               ///< that live
  int64_t of_addresses = 0;          ///< of these, those that say nothing of what lies there (Buffer::standForAddress)
  bool is_shared_with_host = false;  ///< host code beyond this library holds the address
  size_t limit = 0;                  ///< of entries, before those of one stream become one
  std::vector<Entry> entries;
  std::shared_ptr<TrackedMemory> merged_into;  ///< null: this one stands for the range
};

/// Where a call's work runs: behind what its stream has, or, where nothing has to be waited for, on the caller's
/// thread.
enum class RunPlace : uint8_t { OnStream, Here };

/// One access of a call, by bytes.
struct TrackedAccess {
  const Buffer* buffer = nullptr;
  uintptr_t begin = 0;
  uintptr_t end = 0;
  MemoryAccess access = MemoryAccess::Read;  ///< or a write
  bool relies = true;  ///< on what is there: where a failed call should have written it, it is skipped
};

/// Of one device. An access waits for the last writer of its bytes, and a write for the readers since. It
/// takes nothing from the heap once warm. Ranges of different devices are not compared.
/// Thread safety: any threads may use it side by side; forgetAll() comes when nobody does any more.
class HazardTracker {
 public:
  explicit HazardTracker(Device& device) : device_(device) {}
  HazardTracker(const HazardTracker&) = delete;
  HazardTracker& operator=(const HazardTracker&) = delete;
  ~HazardTracker();

  /// Blocks until host code may access the tensor's elements. Errors: those of the work that should have written them,
  /// once for each call and tensor.
  void waitOnHost(const Tensor& tensor, MemoryAccess access);
  /// Host code beyond this library knows the tensor's address from now on.
  void shareWithHost(const Tensor& tensor);
  /// What `stream` was given so far is an access; later ones wait for it, and it comes after earlier ones. Errors: as
  /// waitOnHost(), as far as failures are known by now; others become the stream's.
  void accessOn(Stream& stream, const Tensor& tensor, MemoryAccess access);
  /// The buffer goes: its range is forgotten when the memory is the device's, and when its calls are over otherwise.
  void letGo(Buffer& buffer);
  /// The buffer, a borrowed one, stands for as many bytes elsewhere from now on, as another one would.
  void move(Buffer& buffer, void* address);
  /// Before the device goes.
  void forgetAll();

 private:
  friend class OrderedCall;

  /// What a call has to do before its work: wait for points, and record those of memory that was allocated on another
  /// stream.
  struct Waits {
    struct Conflict {
      std::shared_ptr<CallPoint> point;
      bool is_write = false;     ///< of one access at least
      bool relies = false;       ///< on what was written
      bool is_in_order = false;  ///< the stream comes after the point anyway
    };
    std::vector<Conflict> conflicts;
    std::vector<std::pair<std::shared_ptr<CallPoint>, std::shared_ptr<Stream>>> allocations;
    void clear();
    void add(Conflict conflict);
  };

  std::shared_ptr<CallPoint> takePoint(const Stream* stream);
  std::shared_ptr<CallPoint> begin(const std::vector<TrackedAccess>& accesses, const Stream& stream, Waits& waits,
                                   bool& is_shared_with_host);
  void enterFresh(const TrackedAccess& access, const std::shared_ptr<CallPoint>& point);
  void giveUp(Waits& waits);
  Waits conflictsOnHost(const TrackedAccess& wanted);
  void requireDone(const Waits& waits);
  bool takeTelling(const TrackedAccess& wanted, const CallPoint& point);
  void raiseFailureOf(const TrackedAccess& wanted, const CallPoint& point);
  void issueWaits(Waits& waits, Stream* stream);
  void markIssued(CallPoint& point) { point.markIssued(++calls_); }

  TrackedMemory& memoryOf(const Buffer& buffer);
  void attach(const Buffer& buffer);
  void detach(Buffer& buffer);
  bool tryMove(Buffer& buffer, uintptr_t begin);
  bool isFree(uintptr_t begin, uintptr_t end) const;
  static void absorb(TrackedMemory& into, TrackedMemory& other);
  void settleAllocation(const Buffer& buffer, TrackedMemory& memory, const Stream* stream, Waits& waits);
  static void collect(const TrackedMemory& memory, const TrackedAccess& access, const Stream* stream,
                      const CallPoint* own, Waits& waits);
  void insert(TrackedMemory& memory, const TrackedAccess& access, uint64_t number,
              const std::shared_ptr<CallPoint>& point);
  void compact(TrackedMemory& memory);
  bool isOver(const TrackedMemory& memory);
  void forgetFailures(TrackedMemory& memory);
  void sweep();

  Device& device_;
  SpinLock lock_;
  std::map<uintptr_t, std::shared_ptr<TrackedMemory>> ranges_;  ///< by where they begin; they do not overlap
  std::vector<std::shared_ptr<CallPoint>> points_;
  size_t next_point_ = 0;
  std::atomic<uint64_t> calls_ = 0;
  struct {
    uint64_t asked_at = 0;  ///< what the count of calls was
    const Stream* stream = nullptr;
    uint64_t number = 0;  ///< of the call
  } undone_;              ///< the last call that was asked about and was not done
  size_t orphans_ = 0;    ///< ranges without a buffer
  size_t orphan_limit_ = 64;
};

/// One call at a time: what it reads and writes, then begin(), its work, finish(). Its lists are used again by the
/// next call.
/// Thread safety: one thread at a time; the calls of others go on side by side.
class OrderedCall {
 public:
  explicit OrderedCall(Device& device);
  OrderedCall(const OrderedCall&) = delete;
  OrderedCall& operator=(const OrderedCall&) = delete;

  /// Forgets the accesses of the call before.
  void clear();
  void add(const Tensor& tensor, MemoryAccess access);
  /// All of a buffer.
  void add(const Buffer& buffer, MemoryAccess access);
  /// What is enqueued on `stream` from now on comes after everything that conflicts with the accesses.
  /// Where `wanted` is Here, there is nothing to wait for and the stream is idle: Here, and what this thread gives to
  /// the stream until finish() or
  /// abandon() runs at once (Device::tryEnterStream()).
  RunPlace begin(Stream& stream, RunPlace wanted = RunPlace::OnStream);
  /// begin(), work that `enqueue` gives to the stream, event() recorded behind it, finish(); also when it raises.
  template <class Enqueue>
  void run(Stream& stream, const Enqueue& enqueue) {
    begin(stream);
    try {
      enqueue();
    } catch (...) {
      abandon(stream);
      throw;
    }
    record(stream);
    finish();
  }
  /// Memory that the call allocated after it began, and writes; to be told before finish().
  void addFresh(const Tensor& tensor);
  /// What stands for the call.
  std::shared_ptr<Event> event() const { return {point_, &point_->event()}; }
  /// The work was enqueued, and event() was recorded behind it: others may go on.
  void finish();
  /// The same after a failure, of which some work may have been enqueued.
  void abandon(Stream& stream) noexcept;
  /// Whether it began, and neither finished nor was abandoned.
  bool isUnderWay() const { return is_under_way_; }
  /// Whether host code beyond this library may look at what the call accesses.
  bool isSharedWithHost() const { return is_shared_with_host_; }

 private:
  void record(Stream& stream);
  bool waitsForNothing() const;

  HazardTracker& tracker_;
  std::vector<TrackedAccess> accesses_;
  std::vector<const Event*> given_events_;  ///< that callers gave with tensors
  HazardTracker::Waits waits_;
  std::shared_ptr<CallPoint> point_;  ///< of the last call that began
  bool is_shared_with_host_ = false;
  bool is_under_way_ = false;
  Stream* entered_ = nullptr;
  std::optional<RaiseCount::Pin> pin_;  ///< while it is under way
};

}  // namespace tokamak
