// The same work on several threads, each time with another number.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

#include "base/start_threads.h"

namespace tokamak {

/// Calls `body` with 0, ..., count - 1, on at most so many threads, of which the caller's is one; on fewer where the
/// system has none to give. The first failure in the order of numbers is raised, when all calls are done.
template <class Body>
void forEachSideBySide(size_t count, int64_t most_threads, const Body& body) {
  std::vector<std::exception_ptr> failures(count);
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) {
      try {
        body(i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> threads;
  startThreads(threads, std::min(static_cast<int64_t>(count), most_threads) - 1, [&](int64_t) { work(); });
  work();
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace tokamak
