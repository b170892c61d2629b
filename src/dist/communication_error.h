// CommunicationError: why a communication cannot come to its end, as every rank that waits for it is told.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "base/error.h"
#include "base/export.h"

namespace tokamak {

enum class CommunicationFault : uint8_t {
  Died,      ///< a rank is gone without a word: its process, or its thread
  Left,      ///< a rank let go of its communicator before others were done with it
  Failed,    ///< a rank cannot take part, because work before that failed there
  Mismatch,  ///< ranks do not mean the same communication
  TimedOut,  ///< a rank did not come in time
};

/// Raised on every rank of a team that is broken: by works, once they are waited for, and by calls. Its code is Device.
/// Sticky: all further works of the team raise it, until the team is formed anew.
/// Thread safety: a value, as Error.
class TOKAMAK_EXPORT CommunicationError final : public Error {
 public:
  /// `rank`: because of which the communication ended, or the first of those; `text` names it and the operation.
  CommunicationError(CommunicationFault fault, int64_t rank, const std::string& text);

  CommunicationFault fault() const { return fault_; }
  int64_t rank() const { return rank_; }

 private:
  CommunicationFault fault_;
  int64_t rank_;
};

/// Why a team is broken: what each of its CommunicationErrors says.
struct Breakage {
  CommunicationFault fault = CommunicationFault::Failed;
  int64_t rank = 0;
  std::string text;
};
[[noreturn]] TOKAMAK_EXPORT void raiseOf(const Breakage& breakage);

/// What the exception says.
TOKAMAK_EXPORT std::string textOf(const std::exception_ptr& error);

}  // namespace tokamak
