// Stream-ordered memory of one device: a cache of blocks per memory kind, reusable on the stream that gave them back.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/spin_lock.h"
#include "device/device.h"
#include "ir/memory_kind.h"

namespace tokamak {

/// Points in a stream's work, as the arena needs them: a block may go to another stream once the point is done.
/// Thread safety: the arena asks from any threads, side by side.
class StreamClock {
 public:
  virtual ~StreamClock() = default;
  /// A small number, unique among the clocks that are used with one arena.
  virtual int64_t index() const = 0;
  virtual bool isDone(uint64_t point) const = 0;
  /// Blocks until the point is done; false where blocking would never end (the caller is the stream's own callback).
  virtual bool waitDone(uint64_t point) = 0;
};

/// Where the arena gets whole blocks from.
/// Thread safety: the arena asks from any threads, side by side.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  /// Memory aligned to 256 bytes, or null when there is none.
  virtual void* allocate(int64_t bytes, MemoryKind kind) = 0;
  virtual void release(void* address, int64_t bytes, MemoryKind kind) = 0;
};

/// What an allocation got: its address and, when the block was freed on another stream, the point that was waited for.
struct ArenaBlock {
  void* address = nullptr;
  StreamClock* freed_on = nullptr;
  uint64_t freed_at = 0;
};

/// Blocks have size classes (eight per doubling, so at most an eighth is wasted) and are neither split nor merged; when
/// memory runs short the cache is given back. Nothing is allocated on the heap while the cache serves.
/// Thread safety: any threads may use it side by side.
class Arena {
 public:
  /// `limit`: bytes that may be held from the source, all kinds together.
  Arena(MemorySource& source, int64_t limit) : source_(source), limit_(limit) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  /// Before a request fails, what is cached is given back, and work is waited for that still uses some of it.
  /// Errors: OutOfMemory, which names the request and the largest blocks in use, with the arena as it was; Usage for
  /// negative sizes.
  ArenaBlock allocate(int64_t bytes, MemoryKind kind, StreamClock& stream);
  /// The memory is free on `stream` now, elsewhere once its `point` is done. Errors: Usage when `address` is not in use
  /// with that size and kind.
  void release(void* address, int64_t bytes, MemoryKind kind, StreamClock& stream, uint64_t point);
  /// Gives cached blocks that nobody uses any more back to the source.
  void trim();

  MemoryStatistics statistics(MemoryKind kind) const;
  int64_t limit() const { return limit_; }
  /// Makes the n-th allocation from now on fail with OutOfMemory (1 is the next one); 0 takes that back.
  void failAllocation(int64_t n);

 private:
  struct Block {
    void* address = nullptr;
    int64_t bytes = 0;      // of the size class
    int64_t requested = 0;  // of the present use
    int size_class = 0;
    bool in_use = false;
    StreamClock* freed_on = nullptr;
    uint64_t freed_at = 0;
    Block* older = nullptr;  // neighbours in the free list
    Block* newer = nullptr;
  };
  struct FreeList {
    Block* oldest = nullptr;
    Block* newest = nullptr;
  };
  static constexpr int kClassCount = 8 * 48;
  struct Kind {
    std::array<std::vector<FreeList>, kClassCount> free;  // by size class, then by stream index
    std::unordered_map<void*, Block*> blocks;
    MemoryStatistics statistics;
  };

  Block* takeCached(Kind& kind, int size_class, const StreamClock& stream);
  Block* takeFromSource(std::unique_lock<SpinLock>& lock, MemoryKind kind, int size_class);
  bool makeRoom(std::unique_lock<SpinLock>& lock);
  int64_t trimLocked();
  std::string describeUse() const;
  void append(Kind& kind, Block& block);
  void unlink(Kind& kind, Block& block);

  MemorySource& source_;
  const int64_t limit_;
  mutable SpinLock lock_;
  std::array<Kind, kAllMemoryKinds.size()> kinds_;
  std::deque<Block> storage_;  // of the descriptors, which never move
  std::vector<Block*> unused_;
  int64_t reserved_ = 0;
  int64_t fail_in_ = 0;
};

}  // namespace tokamak
