#include "toolchain/compile_queue.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "base/start_threads.h"

namespace tokamak {

namespace {

// NVRTC cannot be ended, and must not be at work while the process takes it down.
constexpr std::chrono::milliseconds kPatienceAtExit{10'000};

std::atomic<int> progress_terminal = -1;

// The queues of one process, which end when it exits: whatever waits for them then goes on.
class LiveQueues {
 public:
  // A forked child has others: a thread that is not there may hold the lock of the parent's.
  static LiveQueues& ofProcess() {
    static std::atomic<LiveQueues*> current = made();
    LiveQueues* known = current.load(std::memory_order_acquire);
    if (!known->home_.isHere()) current.store(known = made(), std::memory_order_release);
    return *known;
  }

  void add(CompileQueue& queue) {
    const std::lock_guard lock(mutex_);
    queues_.push_back(&queue);
  }
  void remove(CompileQueue& queue) {
    const std::lock_guard lock(mutex_);
    std::erase(queues_, &queue);
  }

 private:
  // Never destroyed: threads may go on while the process exits.
  static LiveQueues* made() {
    std::atexit([] { ofProcess().endAll(); });
    return new LiveQueues();
  }

  void endAll() {
    const std::lock_guard lock(mutex_);
    for (CompileQueue* queue : queues_) queue->end(kPatienceAtExit);
  }

  const HomeProcess home_;
  std::mutex mutex_;
  std::vector<CompileQueue*> queues_;
};

std::exception_ptr whyEnded() {
  return std::make_exception_ptr(
      Error(ErrorCode::Cancelled, "a kernel was not compiled: the process exits, or the kernel's device was given up"));
}

}  // namespace

void CompileQueue::showProgressOn(int terminal) { progress_terminal.store(terminal); }

CompileQueue::CompileQueue(const CompileQueueOptions& options)
    : options_(options),
      most_threads_(options.threads > 0 ? options.threads : std::max<int64_t>(1, std::thread::hardware_concurrency())) {
  LiveQueues::ofProcess().add(*this);
}

CompileQueue::~CompileQueue() {
  if (!home_.isHere()) {
    for (std::thread& thread : threads_) abandonThread(thread);
    static_cast<void>(changed_.release());
    return;
  }
  LiveQueues::ofProcess().remove(*this);
  end(std::chrono::milliseconds(0));  // those that run are waited for
  for (std::thread& thread : threads_) thread.join();
}

void CompileQueue::end(std::chrono::milliseconds patience) {
  if (!home_.isHere()) return;
  dropAll();
  std::vector<std::thread> idle;
  {
    Lock lock(mutex_);
    if (!changed_->wait_for(lock, patience, [&] { return running_.empty(); })) return;
    idle.swap(threads_);
  }
  for (std::thread& thread : idle) thread.join();
}

// Outside the lock: who is told of it may ask for another compilation.
void CompileQueue::dropAll() {
  std::vector<Task> dropped;
  {
    const Lock lock(mutex_);
    if (ended_ != nullptr) return;
    ended_ = whyEnded();
    dropped.assign(running_.begin(), running_.end());
    std::ranges::move(tasks_, std::back_inserter(dropped));
    tasks_.clear();
  }
  changed_->notify_all();
  for (const Task& task : dropped) task.drop(ended_);
}

void CompileQueue::push(Task task) {
  Lock lock(mutex_);
  if (ended_ != nullptr) {
    lock.unlock();
    return task.drop(ended_);
  }
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
  if (!threads_.empty()) return changed_->notify_one();
  Task last = std::move(tasks_.back());
  tasks_.pop_back();
  runHere(lock, std::move(last));
}

void CompileQueue::runHere(Lock& lock, Task task) {
  const auto at = running_.insert(running_.end(), std::move(task));
  lock.unlock();
  at->run();
  lock.lock();
  std::list<Task> over;  // destroyed outside the lock
  over.splice(over.begin(), running_, at);
  ++done_;
  const bool is_last = ended_ != nullptr && running_.empty();
  lock.unlock();
  over.clear();
  if (is_last) changed_->notify_all();
  lock.lock();
}

void CompileQueue::work() {
  Lock lock(mutex_);
  while (true) {
    ++idle_threads_;
    changed_->wait(lock, [&] { return ended_ != nullptr || !tasks_.empty(); });
    --idle_threads_;
    if (ended_ != nullptr) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    runHere(lock, std::move(task));
  }
}

int CompileQueue::terminal() const { return options_.terminal >= 0 ? options_.terminal : progress_terminal.load(); }

void CompileQueue::waitWhile(const std::function<bool(std::chrono::milliseconds)>& isPending) {
  const int shown_on = terminal();
  if (shown_on < 0 || isatty(shown_on) != 1) {
    while (isPending(std::chrono::hours(1))) continue;
    return;
  }
  constexpr std::chrono::milliseconds kBetweenLines{100};
  while (isPending(kBetweenLines)) showProgress(shown_on);
  eraseProgress(shown_on);
}

void CompileQueue::showProgress(int terminal) {
  const Lock lock(mutex_);
  if (Clock::now() - start_ < options_.patience) return;
  const std::string line = fmt::format("\r\033[Ktokamak: compiling kernels: {} of {} done", done_, added_);
  is_shown_ = write(terminal, line.data(), line.size()) > 0;
}

void CompileQueue::eraseProgress(int terminal) {
  const Lock lock(mutex_);
  if (!is_shown_) return;
  constexpr std::string_view kErase = "\r\033[K";
  is_shown_ = write(terminal, kErase.data(), kErase.size()) < 0;
}

}  // namespace tokamak
