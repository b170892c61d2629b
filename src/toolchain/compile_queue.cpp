#include "toolchain/compile_queue.h"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "base/start_threads.h"

namespace tokamak {

CompileQueue::CompileQueue(const CompileQueueOptions& options)
    : options_(options),
      is_terminal_(isatty(options.terminal) == 1),
      most_threads_(options.threads > 0 ? options.threads : std::max<int64_t>(1, std::thread::hardware_concurrency())) {
}

CompileQueue::~CompileQueue() {
  if (!home_.isHere()) {
    for (std::thread& thread : threads_) abandonThread(thread);
    static_cast<void>(changed_.release());
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    for (const Task& task : tasks_) task.drop();
    tasks_.clear();
  }
  changed_->notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::exception_ptr CompileQueue::whyDropped() {
  return std::make_exception_ptr(
      Error(ErrorCode::Compile, "the device of a kernel was given up before the kernel was compiled"));
}

void CompileQueue::push(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (added_ == done_) {
      added_ = done_ = 0;
      start_ = Clock::now();
    }
    ++added_;
    tasks_.push_back(std::move(task));
    if (idle_threads_ < static_cast<int64_t>(tasks_.size()) && static_cast<int64_t>(threads_.size()) < most_threads_) {
      try {
        threads_.emplace_back([this] { work(); });
      } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): the threads that run do the same work
      }
    }
    if (!threads_.empty()) {
      changed_->notify_one();
      return;
    }
    task = std::move(tasks_.back());
    tasks_.pop_back();
  }
  task.run();
  const std::lock_guard lock(mutex_);
  ++done_;
}

void CompileQueue::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_threads_;
    changed_->wait(lock, [&] { return is_ending_ || !tasks_.empty(); });
    --idle_threads_;
    if (is_ending_) return;
    {
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task.run();
    }
    lock.lock();
    ++done_;
  }
}

void CompileQueue::waitWhile(const std::function<bool(std::chrono::milliseconds)>& isPending) {
  if (!is_terminal_) {
    while (isPending(std::chrono::hours(1))) continue;
    return;
  }
  constexpr std::chrono::milliseconds kBetweenLines{100};
  while (isPending(kBetweenLines)) showProgress();
  eraseProgress();
}

void CompileQueue::showProgress() {
  const std::lock_guard lock(mutex_);
  if (Clock::now() - start_ < options_.patience) return;
  const std::string line = fmt::format("\r\033[Ktokamak: compiling kernels: {} of {} done", done_, added_);
  is_shown_ = write(options_.terminal, line.data(), line.size()) > 0;
}

void CompileQueue::eraseProgress() {
  const std::lock_guard lock(mutex_);
  if (!is_shown_) return;
  constexpr std::string_view kErase = "\r\033[K";
  is_shown_ = write(options_.terminal, kErase.data(), kErase.size()) < 0;
}

}  // namespace tokamak
