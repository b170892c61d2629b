// BlockPool: a thread pool that runs the blocks of kernels.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/home_process.h"
#include "base/spin_lock.h"
#include "runtime/cpu/parallel_for.h"

namespace tokamak {

class OpenMp;

/// Several threads may call parallelFor at once; each works on its own call, so that calls always end. The pool's
/// threads start with the first call that can use them, and sleep when idle. In a scope of OnOpenMp a call uses that
/// runtime's threads instead.
class BlockPool {
 public:
  static constexpr int64_t kMostThreads = 4096;

  /// `threads`: how many may work on one call, the caller included; 1 to kMostThreads. Where the system starts fewer,
  /// these do the work, and the log tells. `callers` (may be null): the caller's threads, which are used instead of own
  /// ones, and of which `threads` are meant to work on one call. Errors: Usage.
  explicit BlockPool(int64_t threads, std::shared_ptr<ParallelFor> callers = nullptr);
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool();

  int64_t threads() const { return threads_; }

  /// Calls `function(block)` for 0 <= block < blocks, concurrently and in any order; returns when all are done. Raises
  /// the first exception of a block; blocks that have not started are skipped.
  template <class Function>
  void parallelFor(int64_t blocks, const Function& function) {
    run(blocks, &function, [](const void* f, int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) (*static_cast<const Function*>(f))(block);
    });
  }

 private:
  using RangeFunction = void (*)(const void* function, int64_t begin, int64_t end);
  // Consecutive blocks, in a cache line of their own. A thread takes blocks of its own share first, for cache locality
  // between calls, and then steals. Trivial: calls set only those that they use.
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
  void runOnCallers(int64_t blocks, const void* function, RangeFunction run_range) const;
  static void runOnOpenMp(const OpenMp& runtime, int64_t threads, Job& job);
  void runOnOwn(Job& job);
  static void share(int64_t blocks, int64_t threads, Job& job);
  void help(size_t thread);
  void start();
  Job* join();
  static void takePart(Job& job, size_t thread);
  static void takeFrom(Share& share, Job& job);
  static void leave(Job& job);

  const int64_t threads_;
  const std::shared_ptr<ParallelFor> callers_;
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
