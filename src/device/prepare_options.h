// PrepareOptions: how a caller gives up waiting for compilers, is told how far they are, and looks around
// meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>

namespace tokamak {

/// How many of the kernels that a call waits for are there.
struct CompileProgress {
  int64_t done = 0;
  int64_t all = 0;
};

struct PrepareOptions {
  /// When it asks for a stop, which any thread may do at any time, the call raises Cancelled, soon: nothing of it runs.
  /// A compiler that nobody else waits for is killed; NVRTC cannot be, and its kernel is kept for whoever asks next.
  /// Programs and devices stay as they are: the same call works later. What a call has enqueued is not cancelled.
  std::stop_token cancel;
  /// Called on the thread of the call, under no lock, when compilers begin, whenever `done` has changed, and when all
  /// are done; not where no kernel is missing. It may call the library, but not run() of the same program. What it
  /// raises, the call raises, as if it had been cancelled.
  std::function<void(const CompileProgress&)> progress;
  /// Called as `progress` is, every 50 ms while the call waits for compilers: to look for signals, say. What it raises,
  /// the call raises, as if it had been cancelled.
  std::function<void()> tick = {};
};

}  // namespace tokamak
