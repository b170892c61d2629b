// OpenMP: the threads of a runtime that another library of the process works on, for the blocks of kernels.
//
// After each of its loops a runtime's threads wait at full speed for the next one (GNU's for milliseconds). Whoever has
// threads of his own beside them shares the processors with threads that wait; so calls that come between such loops
// use the threads that are awake already.
#pragma once

#include <cstdint>

#include "base/home_process.h"

namespace tokamak {

/// Thread safety: any threads may use it side by side; each has a team of its own, as the runtime makes them.
class OpenMp {
 public:
  using Body = void (*)(void* context, int64_t thread);

  /// The runtime that a library of this process, by its path, is linked with; null where it is not loaded, or has none
  /// with GNU's entry points (which LLVM's and Intel's have, too). Lives as long as the process.
  static const OpenMp* usedBy(const char* path);

  /// How many threads the calling one would have: omp_set_num_threads(), as of torch.set_num_threads(), decides. One
  /// inside a parallel region, and in a forked process, where the runtime's threads are not.
  int64_t threads() const;
  /// Calls body(context, thread) once on each of at most `threads` threads, the calling one among them as number 0, and
  /// returns when all have ended. Bodies raise nothing.
  void run(int64_t threads, Body body, void* context) const;

 private:
  using Parallel = void (*)(void (*function)(void*), void* data, unsigned threads, unsigned flags);

  HomeProcess home_;
  Parallel parallel_ = nullptr;
  int (*thread_number_)() = nullptr;
  int (*most_threads_)() = nullptr;
  int (*in_parallel_)() = nullptr;
};

/// While it lives, blocks of kernels that this thread runs are shared out on the runtime's threads (null: on the
/// device's own). Scopes may stand in one another.
class OnOpenMp {
 public:
  explicit OnOpenMp(const OpenMp* runtime) : before_(innermost) { innermost = runtime; }
  OnOpenMp(const OnOpenMp&) = delete;
  OnOpenMp& operator=(const OnOpenMp&) = delete;
  ~OnOpenMp() { innermost = before_; }

  /// Of this thread's innermost scope.
  static const OpenMp* current() { return innermost; }

 private:
  const OpenMp* before_;
  static constinit thread_local const OpenMp* innermost;
};

}  // namespace tokamak
