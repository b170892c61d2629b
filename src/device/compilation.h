// Compilation: code that a compiler makes for all who wait for it, and that they may give up.
#pragma once

#include <chrono>
#include <stop_token>

namespace tokamak {

/// Begins when it is made, and again when somebody waits for it after it was given up.
/// Thread safety: any threads may wait side by side.
class Compilation {
 public:
  Compilation() = default;
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;
  virtual ~Compilation() = default;

  /// One more wants the code, until leave() or giveUp().
  virtual void join() = 0;
  /// One fewer wants it; the compiler goes on.
  virtual void leave() = 0;
  /// One fewer wants it; the last one ends the compiler, if it can be ended.
  virtual void giveUp() = 0;

  /// Whether it ended, well or not.
  virtual bool isOver() const = 0;
  /// Blocks for `time` at most, or until `stop` asks for it; gives isOver(). For one who has joined.
  virtual bool waitFor(std::chrono::milliseconds time, const std::stop_token& stop) = 0;
};

}  // namespace tokamak
