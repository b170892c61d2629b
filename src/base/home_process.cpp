#include "base/home_process.h"

#include <atomic>

#include <pthread.h>

namespace tokamak {

namespace {

// Of the process that loaded the library 0, of its forked children 1, of theirs 2, ...
std::atomic<uint32_t> process_number = 0;

const int kIsRegistered = pthread_atfork(nullptr, nullptr, [] { process_number.fetch_add(1); });

}  // namespace

HomeProcess::HomeProcess() : number_(process_number.load(std::memory_order_relaxed)) {
  static_cast<void>(kIsRegistered);  // so that the linker keeps it
}

bool HomeProcess::isHere() const { return number_ == process_number.load(std::memory_order_relaxed); }

}  // namespace tokamak
