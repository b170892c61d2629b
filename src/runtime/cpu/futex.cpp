#include "runtime/cpu/futex.h"

#include <climits>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tokamak {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

void futexWait(const std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futexWaitFor(const uint32_t* word, uint32_t expected, std::chrono::nanoseconds longest) {
  timespec time = {};
  time.tv_sec = static_cast<time_t>(longest.count() / 1'000'000'000);
  time.tv_nsec = static_cast<long>(longest.count() % 1'000'000'000);
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, &time, nullptr, 0);
}

void futexWake(const void* word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

}  // namespace tokamak
