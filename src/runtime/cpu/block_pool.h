// The threads that share out the blocks of a kernel.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/home_process.h"
#include "base/spin_lock.h"

namespace tokamak {

/// Any number of threads may call parallelFor at once; each takes part in its own call, so that a call always ends. The
/// pool's threads start with the first call that can use them, and sleep when there is nothing to do.
class BlockPool {
 public:
  static constexpr int64_t kMostThreads = 4096;

  /// `threads`: how many may work on one call, the caller included; 1 to kMostThreads. Where the system starts fewer,
  /// these do the work, and a line on standard error tells. Errors: Usage.
  explicit BlockPool(int64_t threads);
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool();

  int64_t threads() const { return threads_; }

  /// Calls `function(block)` for 0 <= block < blocks, in any order and at the same time; returns when all are done. The
  /// first exception out of a block is raised here, and blocks that have not started are left out.
  template <class Function>
  void parallelFor(int64_t blocks, const Function& function) {
    run(blocks, &function, [](const void* f, int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) (*static_cast<const Function*>(f))(block);
    });
  }

 private:
  using RangeFunction = void (*)(const void* function, int64_t begin, int64_t end);
  // Consecutive blocks, in a cache line of their own. A thread takes from its own share first, so that it meets in the
  // next call what this one left in its caches; then from the shares of others. Trivial: calls set only those they use.
  struct alignas(64) Share {
    int64_t next;
    int64_t end;
    std::atomic_ref<int64_t> cursor() { return std::atomic_ref(next); }
    bool isTaken() { return cursor().load(std::memory_order_relaxed) >= end; }
    void drop() { cursor().store(end, std::memory_order_relaxed); }
  };
  static constexpr size_t kMaxShares = 64;
  struct Job {
    const void* function = nullptr;
    RangeFunction run_range = nullptr;
    int64_t grain = 1;
    std::array<Share, kMaxShares> share_memory;
    std::span<Share> shares;
    std::atomic<uint32_t> helpers = 0;
    SpinLock failure_lock;
    std::exception_ptr failure;
    Job* following = nullptr;
  };

  void run(int64_t blocks, const void* function, RangeFunction run_range);
  void help(size_t thread);
  void start();
  Job* join();
  static void takePart(Job& job, size_t thread);
  static void takeFrom(Share& share, Job& job);
  static void leave(Job& job);

  const int64_t threads_;
  const HomeProcess home_;
  SpinLock lock_;  // of jobs_ and of joining one
  Job* jobs_ = nullptr;
  std::atomic<uint32_t> posts_ = 0;  // counts jobs; idle threads sleep on it
  std::atomic<int32_t> sleepers_ = 0;
  std::atomic<bool> stop_ = false;
  std::once_flag started_;
  std::vector<std::thread> workers_;
};

}  // namespace tokamak
