// CompileQueue: compilations that go on side by side while their programs are planned; on a terminal, long ones may
// show how far they are.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/home_process.h"

namespace tokamak {

struct CompileQueueOptions {
  int64_t threads = 0;                       ///< that compile; 0: as many as processors
  int terminal = -1;                         ///< where the progress line is shown; -1: as showProgressOn() says
  std::chrono::milliseconds patience{2000};  ///< before it is shown
};

/// Destroying it drops all tasks, and waits for those that run. exit() drops them, too, before the destructors of
/// objects that were there before the first queue, and waits for those that run, for ten seconds at most.
/// Thread safety: any threads may use it side by side.
class CompileQueue {
 public:
  /// What is done on a thread of the queue.
  struct Task {
    std::function<void()> run;
    /// The queue ends before the task has: it does not run, or had better return soon. Called once, on the thread that
    /// ends the queue, with the reason: an Error (Cancelled).
    std::function<void(const std::exception_ptr& why)> drop;
  };

  explicit CompileQueue(const CompileQueueOptions& options = {});
  ~CompileQueue();
  CompileQueue(const CompileQueue&) = delete;
  CompileQueue& operator=(const CompileQueue&) = delete;

  /// Without a thread that could do it, it is done at once, here. After end() it is dropped.
  void push(Task task);
  /// Returns when `isPending` says so, which waits for as long as it is told; shows the progress line meanwhile.
  void waitWhile(const std::function<bool(std::chrono::milliseconds)>& isPending);
  /// Drops all tasks, those to come, too, and waits until none runs, for `patience` at most.
  void end(std::chrono::milliseconds patience);

  /// Where queues of this process show a progress line, if it is a terminal; -1, as at first: nowhere. For the command
  /// line: a library does not write on its user's terminal.
  static void showProgressOn(int terminal);

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;

  void work();
  void runHere(Lock& lock, Task task);
  void dropAll();
  int terminal() const;
  void showProgress(int terminal);
  void eraseProgress(int terminal);

  const CompileQueueOptions options_;
  const HomeProcess home_;
  std::mutex mutex_;
  // Of a forked child it is never destroyed: that would wait for the parent's threads.
  std::unique_ptr<std::condition_variable> changed_ = std::make_unique<std::condition_variable>();
  std::deque<Task> tasks_;
  std::list<Task> running_;
  std::vector<std::thread> threads_;
  int64_t most_threads_;
  int64_t idle_threads_ = 0;
  std::exception_ptr ended_;  ///< why
  // Of those that were added since nothing was under way.
  int64_t added_ = 0;
  int64_t done_ = 0;
  Clock::time_point start_;
  bool is_shown_ = false;
};

}  // namespace tokamak
