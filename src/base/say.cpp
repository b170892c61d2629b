#include "base/say.h"

#include <cstdio>
#include <memory>
#include <mutex>
#include <utility>

#include "base/log.h"
#include "base/spin_lock.h"

namespace tokamak {

namespace {

struct Log {
  SpinLock lock;
  std::shared_ptr<const LogFunction> function;
};

// Never destroyed: threads may go on while the process exits.
Log& processLog() {
  static Log& log = *new Log;
  return log;
}

void writeLine(std::string_view text) noexcept {
  // Of the C library, which reports failures and raises none; one call, so that lines of threads do not mix.
  std::fprintf(stderr, "tokamak: %.*s\n", static_cast<int>(text.size()), text.data());
}

std::shared_ptr<const LogFunction> logFunction() {
  Log& log = processLog();
  const std::lock_guard lock(log.lock);
  return log.function;
}

}  // namespace

void setLogFunction(LogFunction log) {
  std::shared_ptr<const LogFunction> function;
  if (log) function = std::make_shared<const LogFunction>(std::move(log));
  Log& known = processLog();
  const std::lock_guard lock(known.lock);
  known.function.swap(function);  // the one before is destroyed after the lock is let go
}

void say(std::string_view text) noexcept {
  try {
    const std::shared_ptr<const LogFunction> function = logFunction();
    if (function == nullptr) return writeLine(text);
    (*function)(text);
  } catch (...) {  // NOLINT(bugprone-empty-catch): nobody could be told
  }
}

}  // namespace tokamak
