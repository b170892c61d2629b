// CompileQueue: compilations that go on side by side while their programs are planned; on a terminal, long ones show
// how far they are.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/home_process.h"

namespace tokamak {

struct CompileQueueOptions {
  int64_t threads = 0;                       ///< that compile; 0: as many as processors
  int terminal = 2;                          ///< where the progress line is shown, if it is a terminal
  std::chrono::milliseconds patience{2000};  ///< before it is shown
};

/// Destroying it waits for running tasks and drops the others: waiting for one of those raises an Error (Compile).
/// Thread safety: any threads may use it side by side.
class CompileQueue {
 public:
  explicit CompileQueue(const CompileQueueOptions& options = {});
  ~CompileQueue();
  CompileQueue(const CompileQueue&) = delete;
  CompileQueue& operator=(const CompileQueue&) = delete;

  /// What `make` gives, some time. Without another thread it is made at once.
  template <class T>
  std::shared_future<T> add(std::function<T()> make) {
    auto promise = std::make_shared<std::promise<T>>();
    std::shared_future<T> future = promise->get_future().share();
    push({.run =
              [promise, make = std::move(make)] {
                try {
                  promise->set_value(make());
                } catch (...) {
                  promise->set_exception(std::current_exception());
                }
              },
          .drop = [promise] { promise->set_exception(whyDropped()); }});
    return future;
  }

  /// Returns when the future is there, showing the progress line meanwhile.
  template <class T>
  void wait(const std::shared_future<T>& future) {
    waitWhile([&](std::chrono::milliseconds time) { return future.wait_for(time) != std::future_status::ready; });
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct Task {
    std::function<void()> run;
    std::function<void()> drop;  ///< sets the error of a dropped task
  };

  static std::exception_ptr whyDropped();
  void push(Task task);
  void work();
  void waitWhile(const std::function<bool(std::chrono::milliseconds)>& isPending);
  void showProgress();
  void eraseProgress();

  const CompileQueueOptions options_;
  const HomeProcess home_;
  const bool is_terminal_;
  std::mutex mutex_;
  // Of a forked child it is never destroyed: that would wait for the parent's threads.
  std::unique_ptr<std::condition_variable> changed_ = std::make_unique<std::condition_variable>();
  std::deque<Task> tasks_;
  std::vector<std::thread> threads_;
  int64_t most_threads_;
  int64_t idle_threads_ = 0;
  bool is_ending_ = false;
  // Of those that were added since nothing was under way.
  int64_t added_ = 0;
  int64_t done_ = 0;
  Clock::time_point start_;
  bool is_shown_ = false;
};

/// Whether what was added is known to have ended in an error.
template <class T>
bool hasFailure(const std::shared_future<T>& future) {
  if (future.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
  try {
    future.get();
    return false;
  } catch (...) {
    return true;
  }
}

}  // namespace tokamak
