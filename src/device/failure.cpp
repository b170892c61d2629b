#include "device/failure.h"

#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace tokamak {

namespace {

thread_local const RaiseCount* pinned_here = nullptr;
thread_local uint32_t pinned_value = 0;

}  // namespace

SkippedError::SkippedError(ErrorCode code, const std::string& text, std::exception_ptr cause)
    : Error(code, fmt::format("skipped, or not run to its end, because of an earlier failure: {}", text)),
      cause_(std::move(cause)) {}

std::exception_ptr skippedBecauseOf(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const SkippedError&) {
    return failure;
  } catch (const Error& error) {
    return std::make_exception_ptr(SkippedError(error.code(), error.what(), failure));
  } catch (const std::exception& error) {
    return std::make_exception_ptr(SkippedError(ErrorCode::Device, error.what(), failure));
  } catch (...) {
    return std::make_exception_ptr(SkippedError(ErrorCode::Device, "an exception of another type", failure));
  }
}

uint32_t RaiseCount::load() const { return pinned_here == this ? pinned_value : count_.load(); }

void RaiseCount::raise(AsyncFailure& failure) {
  bool is_first = false;
  {
    // The failure is over before anything is marked with the new count: no work of that finds it open and later over.
    const std::lock_guard lock(lock_);
    is_first = failure.raised.load() == 0;
    if (is_first) {
      failure.raised.store(count_.load() + 1);
      count_.fetch_add(1);
    }
  }
  std::rethrow_exception(is_first ? failure.cause : skippedBecauseOf(failure.cause));
}

RaiseCount::Pin::Pin(const RaiseCount& count) : outer_(pinned_here), outer_value_(pinned_value) {
  const uint32_t value = count.load();
  pinned_here = &count;
  pinned_value = value;
}

RaiseCount::Pin::~Pin() {
  pinned_here = outer_;
  pinned_value = outer_value_;
}

}  // namespace tokamak
