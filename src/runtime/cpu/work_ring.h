// WorkRing: a ring buffer of records of any size, from the threads that issue work to the thread that runs it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

namespace tokamak {

/// Every record starts with its size, a multiple of 16 bytes.
struct RingRecord {
  uint32_t bytes = 0;
};

/// One producer at a time (the caller locks), one consumer. Positions count bytes and only grow, so that "this work is
/// done" is one comparison. Waiting threads spin for a few microseconds, then sleep.
class WorkRing {
 public:
  static constexpr uint32_t kAlignment = 16;

  /// `capacity`: bytes, a power of two.
  explicit WorkRing(uint32_t capacity);

  /// The largest record that fits.
  uint32_t maxRecordBytes() const { return capacity_ / 2; }

  /// Producer: memory for a record of `bytes` (a multiple of 16, at most maxRecordBytes()), or null while the ring is
  /// full. Then roomPosition() is the position that must be done before another try.
  std::byte* tryReserve(uint32_t bytes);
  uint64_t roomPosition() const { return room_position_; }
  /// Producer: publishes the reserved record.
  void publish();
  /// Producer: ends the ring; waitForRecord() returns null once it is empty.
  void close();

  /// Any thread: the position after everything published so far.
  uint64_t end() const { return tail_.load(std::memory_order_acquire); }
  bool isDone(uint64_t position) const { return head_.load(std::memory_order_acquire) >= position; }
  /// Any thread but the consumer: blocks until everything before `position` is done.
  void waitDone(uint64_t position);
  /// The address of the record that ends at `position`.
  const std::byte* placeBefore(uint64_t position, uint32_t bytes) const {
    return bytes_.get() + ((position - bytes) & (capacity_ - 1));
  }

  /// Consumer: the next record, blocking while there is none; null when closed and empty.
  std::byte* waitForRecord();
  /// Consumer: where the record that is being run starts.
  uint64_t runPosition() const { return run_position_; }
  /// Consumer: the record from waitForRecord() is done.
  void finish();

 private:
  static constexpr uint32_t kPad = 1U << 31U;  // in `bytes`: skip to the ring's start
  static constexpr uint64_t kNobody = std::numeric_limits<uint64_t>::max();
  static constexpr size_t kLine = 64;
  struct FreeAligned {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t(kLine)); }
  };

  const uint32_t capacity_;
  const std::unique_ptr<std::byte[], FreeAligned> bytes_;

  alignas(kLine) std::atomic<uint64_t> tail_ = 0;  // the producer's line
  uint64_t known_head_ = 0;
  uint64_t reserved_end_ = 0;
  uint64_t room_position_ = 0;

  alignas(kLine) std::atomic<uint64_t> head_ = 0;  // the consumer's line
  uint64_t known_tail_ = 0;
  uint64_t run_position_ = 0;
  uint64_t run_end_ = 0;

  alignas(kLine) std::atomic<uint32_t> consumer_sleeps_ = 0;  // rarely written
  std::atomic<bool> closed_ = false;
  std::atomic<uint64_t> wake_position_ = kNobody;  // the first position that somebody sleeps for
  std::atomic<uint32_t> wakes_ = 0;
};

}  // namespace tokamak
