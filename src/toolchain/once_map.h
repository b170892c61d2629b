// OnceMap: values made on demand by key; those who ask for one that is being made wait for it. Values live with their
// users.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/error.h"

namespace tokamak {

/// Values by key, each made once.
/// Thread safety: any threads may use it side by side.
template <class Value>
class OnceMap {
 public:
  using Pointer = std::shared_ptr<const Value>;

  /// The value of `key`: one that somebody holds, or the result of `make`, which runs once for all who ask meanwhile.
  /// What it raises, all of them get; the next one to ask tries again.
  Pointer get(const std::string& key, const std::function<Pointer()>& make) {
    std::promise<Outcome> promise;
    std::shared_future<Outcome> made_elsewhere;
    {
      const std::lock_guard lock(mutex_);
      const auto [at, is_first] = slots_.try_emplace(key);
      if (Pointer alive = at->second.made.lock()) return alive;
      made_elsewhere = at->second.coming;
      if (!made_elsewhere.valid()) at->second.coming = promise.get_future().share();
    }
    if (made_elsewhere.valid()) return valueOf(made_elsewhere.get());
    try {
      Pointer value = make();
      settle(key, value);
      promise.set_value({value, nullptr});
      return value;
    } catch (const Error& error) {
      settle(key, nullptr);
      promise.set_value({nullptr, std::make_shared<const Error>(error)});
      throw;
    } catch (...) {
      settle(key, nullptr);
      promise.set_exception(std::current_exception());
      throw;
    }
  }

  /// How many keys are known, of values that are gone too.
  size_t size() {
    const std::lock_guard lock(mutex_);
    return slots_.size();
  }

 private:
  // Each thread raises a copy of its own: an error that several threads hold is not theirs to change.
  struct Outcome {
    Pointer value;
    std::shared_ptr<const Error> failure;
  };
  struct Slot {
    std::weak_ptr<const Value> made;
    std::shared_future<Outcome> coming;
  };

  static Pointer valueOf(const Outcome& outcome) {
    if (outcome.failure != nullptr) throw Error(*outcome.failure);
    return outcome.value;
  }

  // Keys are whole sources: those that nobody needs any more are dropped whenever their number has doubled.
  void settle(const std::string& key, const Pointer& value) {
    const std::lock_guard lock(mutex_);
    if (value == nullptr) {
      slots_.erase(key);
    } else {
      slots_[key] = {value, {}};
    }
    if (slots_.size() < next_sweep_) return;
    std::erase_if(slots_, [](const auto& slot) { return slot.second.made.expired() && !slot.second.coming.valid(); });
    next_sweep_ = 2 * slots_.size() + 64;
  }

  std::mutex mutex_;
  std::map<std::string, Slot> slots_;
  size_t next_sweep_ = 64;
};

}  // namespace tokamak
