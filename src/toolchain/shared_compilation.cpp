#include "toolchain/shared_compilation.h"

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <utility>

#include "base/error.h"
#include "toolchain/sha256.h"

namespace tokamak {

// Shared with the task, which may outlive all who wanted the value.
struct SharedCompilation::State {
  enum class Status : uint8_t { GivenUp, UnderWay, Made, Failed };

  std::mutex mutex;
  std::condition_variable_any changed;
  Status status = Status::GivenUp;
  int64_t wanted_by = 0;
  std::stop_source stop;             // of the task under way
  std::shared_ptr<const Make> make;  // until it is over; a dropped task may still run it
  Value value;
  std::exception_ptr failure;

  bool isOver() const { return status == Status::Made || status == Status::Failed; }

  void run(const std::stop_token& given_up);
  std::shared_ptr<const Make> howToMake();
  void settle(Status end, Value made, std::exception_ptr raised);
};

void SharedCompilation::State::run(const std::stop_token& given_up) {
  const std::shared_ptr<const Make> how = howToMake();
  if (how == nullptr || given_up.stop_requested()) return settle(Status::GivenUp, nullptr, nullptr);
  try {
    settle(Status::Made, (*how)(given_up), nullptr);
  } catch (const Error& error) {
    const bool is_given_up = error.code() == ErrorCode::Cancelled && given_up.stop_requested();
    settle(is_given_up ? Status::GivenUp : Status::Failed, nullptr, std::current_exception());
  } catch (...) {
    settle(Status::Failed, nullptr, std::current_exception());
  }
}

std::shared_ptr<const SharedCompilation::Make> SharedCompilation::State::howToMake() {
  const std::lock_guard lock(mutex);
  return make;
}

// What the queue dropped meanwhile stays dropped.
void SharedCompilation::State::settle(Status end, Value made, std::exception_ptr raised) {
  std::shared_ptr<const Make> done;  // destroyed outside the lock
  {
    const std::lock_guard lock(mutex);
    if (status != Status::UnderWay) return;
    status = end;
    value = std::move(made);
    if (end == Status::Failed) failure = std::move(raised);
    if (isOver()) done = std::move(make);
  }
  changed.notify_all();
}

SharedCompilation::SharedCompilation(std::shared_ptr<CompileQueue> queue, Make make)
    : queue_(std::move(queue)), state_(std::make_shared<State>()) {
  state_->make = std::make_shared<const Make>(std::move(make));
  begin();
}

// In a forked child the task is the parent's.
SharedCompilation::~SharedCompilation() {
  if (home_.isHere()) state_->stop.request_stop();
}

void SharedCompilation::begin() {
  std::stop_token given_up;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->status != State::Status::GivenUp) return;
    state_->status = State::Status::UnderWay;
    state_->stop = std::stop_source();
    given_up = state_->stop.get_token();
  }
  queue_->push({.run = [state = state_, given_up] { state->run(given_up); },
                .drop =
                    [state = state_, given_up](const std::exception_ptr& why) {
                      state->settle(State::Status::Failed, nullptr, why);
                      std::stop_source task;
                      {
                        const std::lock_guard lock(state->mutex);
                        task = state->stop;
                      }
                      task.request_stop();
                    }});
}

void SharedCompilation::join() {
  const std::lock_guard lock(state_->mutex);
  ++state_->wanted_by;
}

void SharedCompilation::leave() {
  const std::lock_guard lock(state_->mutex);
  --state_->wanted_by;
}

void SharedCompilation::giveUp() {
  std::stop_source task(std::nostopstate);
  {
    const std::lock_guard lock(state_->mutex);
    if (--state_->wanted_by == 0 && !state_->isOver()) task = state_->stop;
  }
  task.request_stop();
}

bool SharedCompilation::isOver() const {
  const std::lock_guard lock(state_->mutex);
  return state_->isOver();
}

bool SharedCompilation::hasFailed() const {
  const std::lock_guard lock(state_->mutex);
  return state_->status == State::Status::Failed;
}

// One who joined after it was given up begins it again, when the task of those before has ended.
bool SharedCompilation::waitFor(std::chrono::milliseconds time, const std::stop_token& stop) {
  begin();
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_for(lock, stop, time, [&] { return state_->status != State::Status::UnderWay; });
  return state_->isOver();
}

SharedCompilation::Value SharedCompilation::value() {
  if (!isOver()) {
    join();
    queue_->waitWhile([&](std::chrono::milliseconds time) { return !waitFor(time, {}); });
    leave();
  }
  const std::lock_guard lock(state_->mutex);
  if (state_->failure == nullptr) return state_->value;
  try {
    std::rethrow_exception(state_->failure);
  } catch (const Error& error) {
    throw Error(error);  // each caller adds its own notes
  }
}

std::shared_ptr<SharedCompilation> SharedCompilations::get(const std::string& text,
                                                           const std::shared_ptr<CompileQueue>& queue,
                                                           const SharedCompilation::Make& make) {
  const std::string key = hexOf(sha256(text));
  const std::lock_guard lock(mutex_);
  std::weak_ptr<SharedCompilation>& known = known_[key];
  std::shared_ptr<SharedCompilation> shared = known.lock();
  if (shared == nullptr || shared->hasFailed()) {
    shared = std::make_shared<SharedCompilation>(queue, make);
    known = shared;
  }
  if (known_.size() >= next_sweep_) {
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    next_sweep_ = 2 * known_.size() + 64;
  }
  return shared;
}

}  // namespace tokamak
