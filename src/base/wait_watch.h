// Wait watch: what a thread does while it waits for long, for another rank say, and whether it goes on waiting.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

namespace tokamak {

/// While it lives, long waits of this thread call `look` every kPause, without a lock of theirs. Where it gives false,
/// waits that can end by themselves (an exchange with other ranks) do, in an error; all others go on until what they
/// wait for is over, which `look` sees to. After that it is called no more.
/// Thread safety: of the thread that made it. Scopes nest: the innermost one counts.
class WaitWatch {
 public:
  static constexpr std::chrono::milliseconds kPause{50};

  explicit WaitWatch(std::function<bool()> look);
  WaitWatch(const WaitWatch&) = delete;
  WaitWatch& operator=(const WaitWatch&) = delete;
  ~WaitWatch();

  /// This thread's, or null.
  static WaitWatch* here();
  /// Whether the wait goes on.
  bool look() { return !is_over_ && !(is_over_ = !look_()); }
  bool isOver() const { return is_over_; }

 private:
  std::function<bool()> look_;
  WaitWatch* outer_;
  bool is_over_ = false;
};

}  // namespace tokamak
