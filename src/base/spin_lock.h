// A lock for a few instructions: spins briefly, then gives the processor away.
#pragma once

#include <atomic>
#include <thread>

namespace tokamak {

/// Tells the processor that this thread is waiting for another one.
inline void spinPause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

/// Lockable; one byte.
class SpinLock {
 public:
  void lock() {
    int tries = 0;
    while (locked_.exchange(true, std::memory_order_acquire)) {
      // The holder may have lost its processor: with few cores, spinning on would keep it from coming back.
      while (locked_.load(std::memory_order_relaxed)) {
        if (++tries % 64 == 0)
          std::this_thread::yield();
        else
          spinPause();
      }
    }
  }
  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> locked_ = false;
};

}  // namespace tokamak
