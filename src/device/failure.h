// Failures of asynchronous work: which work is skipped because of one, and who is told.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/export.h"
#include "base/spin_lock.h"

namespace tokamak {

/// Raised to who waits for work that was skipped, or for work that failed when somebody else was told of the failure
/// before. Its code is that of the failure.
/// Thread safety: a value, as Error; the cause is shared by all who are told of it.
class TOKAMAK_EXPORT SkippedError final : public Error {
 public:
  SkippedError(ErrorCode code, const std::string& text, std::exception_ptr cause);
  /// The failure because of which the work did not run, or not to its end: the first one, never a SkippedError.
  const std::exception_ptr& cause() const { return cause_; }

 private:
  std::exception_ptr cause_;
};

/// The SkippedError of this failure; one that is a SkippedError stays as it is.
TOKAMAK_EXPORT std::exception_ptr skippedBecauseOf(const std::exception_ptr& failure);

/// What a stream waits for an event for.
enum class WaitFor : uint8_t {
  Everything,
  Order,    ///< a failure before the event is not this stream's
  Failure,  ///< the stream's work comes after the event anyway
};

/// An exception out of asynchronous work, shared by all streams that it reaches.
struct AsyncFailure {
  explicit AsyncFailure(std::exception_ptr of) : cause(std::move(of)) {}
  /// Whether work that was issued at this raise count runs, although this failed: somebody was told before.
  bool isOverAt(uint32_t raise_count) const {
    const uint32_t since = raised.load();
    return since != 0 && raise_count >= since;
  }

  const std::exception_ptr cause;
  /// The device's raise count with which the cause was raised; 0 until then.
  std::atomic<uint32_t> raised = 0;
};

/// How often a failure of one device was raised, which tells work that was issued before from work that was issued
/// since.
/// Thread safety: any threads may use it side by side.
class TOKAMAK_EXPORT RaiseCount {
 public:
  RaiseCount() = default;
  RaiseCount(const RaiseCount&) = delete;
  RaiseCount& operator=(const RaiseCount&) = delete;

  /// What work is marked with that this thread issues now.
  uint32_t load() const;
  /// Raises the cause to the first who gets here, a SkippedError to others.
  [[noreturn]] void raise(AsyncFailure& failure);

  /// While it lives, what this thread issues on the device is marked as at its beginning: all work of a call is
  /// skipped, or none is, whenever others are told of failures.
  /// Thread safety: belongs to the thread that made it.
  class Pin {
   public:
    explicit Pin(const RaiseCount& count);
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;
    ~Pin();

   private:
    const RaiseCount* outer_;
    uint32_t outer_value_;
  };

 private:
  SpinLock lock_;
  std::atomic<uint32_t> count_ = 0;
};

}  // namespace tokamak
