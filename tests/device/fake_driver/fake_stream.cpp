#include "fake_stream.h"

#include <set>
#include <utility>

namespace fake {

void Completion::complete() {
  const std::lock_guard lock(mutex_);
  is_complete_ = true;
  time_ = std::chrono::steady_clock::now();
  changed_.notify_all();
}

void Completion::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_complete_; });
}

std::chrono::steady_clock::time_point Completion::time() {
  const std::lock_guard lock(mutex_);
  return time_;
}

bool Completion::isComplete() {
  const std::lock_guard lock(mutex_);
  return is_complete_;
}

namespace {

// (Never destroyed: streams may go later.)
auto& live_mutex = *new std::mutex();
auto& live = *new std::set<const void*>();

}  // namespace

Stream::Stream(Context& context) : context_(context), thread_([this] { run(); }) {
  const std::lock_guard lock(live_mutex);
  live.insert(this);
}

bool Stream::isLive(const void* handle) {
  const std::lock_guard lock(live_mutex);
  return live.contains(handle);
}

Stream::~Stream() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  wake_.notify_all();
  thread_.join();
  const std::lock_guard lock(live_mutex);
  live.erase(this);
}

void Stream::push(std::function<void()> work) {
  if (capture(*this, {.work = work})) return;
  const std::lock_guard lock(mutex_);
  queue_.push_back([this, work = std::move(work)] {
    if (context_.lost.load() == 0) work();
  });
  wake_.notify_all();
}

std::shared_ptr<Completion> Stream::pushMark() {
  auto completion = std::make_shared<Completion>();
  const std::lock_guard lock(mutex_);
  queue_.push_back([completion] { completion->complete(); });
  wake_.notify_all();
  return completion;
}

void Stream::synchronize() { pushMark()->wait(); }

void Stream::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return is_closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace fake
