#include "base/process_number.h"

#include <atomic>

#include <pthread.h>

namespace tokamak {

namespace {

std::atomic<uint32_t> process_number = 0;

const int kIsRegistered = pthread_atfork(nullptr, nullptr, [] { process_number.fetch_add(1); });

}  // namespace

uint32_t processNumber() {
  static_cast<void>(kIsRegistered);  // so that the linker keeps it
  return process_number.load(std::memory_order_relaxed);
}

}  // namespace tokamak
