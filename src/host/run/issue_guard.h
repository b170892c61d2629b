// IssueGuard: that one thread at a time issues calls whose order matters.
#pragma once

#include <mutex>
#include <string_view>

#include "base/require.h"

namespace tokamak {

/// Thread safety: any threads may enter.
class IssueGuard {
 public:
  /// Errors: Usage, naming the program, while another thread is inside.
  class Entry {
   public:
    Entry(IssueGuard& guard, std::string_view program) : lock_(guard.mutex_, std::try_to_lock) {
      TK_REQUIRE(lock_.owns_lock(), Usage,
                 "{}: two threads call it at the same time; calls that communicate come one after the other, in the "
                 "same order on all ranks",
                 program);
    }

   private:
    std::unique_lock<std::mutex> lock_;
  };

  /// The same, which another thread inside makes false.
  class Attempt {
   public:
    explicit Attempt(IssueGuard& guard) : lock_(guard.mutex_, std::try_to_lock) {}
    explicit operator bool() const { return lock_.owns_lock(); }

   private:
    std::unique_lock<std::mutex> lock_;
  };

 private:
  std::mutex mutex_;
};

}  // namespace tokamak
