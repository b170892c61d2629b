// Futexes: sleep until a 32-bit word changes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "base/spin_lock.h"

namespace tokamak {

/// Sleeps while `word` is `expected`, until woken; may return early.
void futexWait(const std::atomic<uint32_t>& word, uint32_t expected);
/// The same for any aligned word, for at most `longest`: for words that others may change without waking anyone.
void futexWaitFor(const uint32_t* word, uint32_t expected, std::chrono::nanoseconds longest);
/// Wakes up to `count` sleepers; only the address is used, so the word itself may be gone.
void futexWake(const void* word, int count);

/// Spins for a few microseconds, less than sleeping and waking take. Returns whether `isReady()` became true.
template <class IsReady>
bool spinUntil(const IsReady& isReady) {
  constexpr int kLooks = 200;
  for (int look = 0; look < kLooks; ++look) {
    if (isReady()) return true;
    spinPause();
  }
  return false;
}

/// The same for up to 50 us, yielding the processor: waking takes as long (in a virtual machine longer), and threads
/// stay awake between consecutive calls.
template <class IsReady>
bool lingerUntil(const IsReady& isReady) {
  constexpr std::chrono::microseconds kLongest{50};
  if (spinUntil(isReady)) return true;
  const auto end = std::chrono::steady_clock::now() + kLongest;
  do {
    std::this_thread::yield();
    if (isReady()) return true;
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace tokamak
