// OperationLog: what a rank did last in its teams, for whoever looks for the rank that did something else.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/spin_lock.h"
#include "dist/communication_error.h"
#include "dist/communication_request.h"

namespace tokamak {

enum class OperationState : uint8_t {
  Posted,   ///< on its stream, behind other work
  Running,  ///< its stream has come to it: it waits for other ranks, or moves data
  Done,
  Failed,  ///< or was not begun, because of a failure before
};
template <>
struct EnumNames<OperationState> {
  static constexpr std::string_view names[] = {"posted", "running", "done", "failed"};
};

/// One operation: a work of a team, on this rank. Of a group it has the first communication, and how many there are.
struct LoggedOperation {
  std::vector<int64_t> team;
  int64_t epoch = 0;
  std::vector<int64_t> transfer;  ///< sender and receiver; empty: a collective
  CommunicationKind kind = CommunicationKind::Gather;
  int64_t number = -1;  ///< as errors have it; -1: it has not started
  DataType dtype = DataType::F32;
  int64_t elements = 0;  ///< that this rank gives, or gets where these are more
  int64_t bytes = 0;     ///< the same, of all of the group
  int64_t group_size = 1;
  OperationState state = OperationState::Posted;
  int64_t posted = -1;   ///< nanoseconds since the log was made; -1: not yet, or not known
  int64_t started = -1;  ///< the same
  int64_t ended = -1;    ///< the same
};

/// The runs of one work, which the log has in order. Of the work; the log alone reads and writes it.
class OperationRuns;

/// The last operations of one rank, over all of its teams, in memory that does not grow with them. To note that one is
/// posted, starts and ends takes nothing from the heap, and less than 100 ns together.
/// An error of a communication writes the log into a file, if one was named: see noteError().
/// Thread safety: any threads may use it side by side.
class OperationLog {
 public:
  static constexpr size_t kCapacity = 1024;

  /// `file`: of all ranks, each of which writes `FILE.RANK`; empty: $TOKAMAK_OPERATIONS, or none where that is not set.
  OperationLog(int64_t rank, int64_t ranks, std::string file);
  OperationLog(const OperationLog&) = delete;
  OperationLog& operator=(const OperationLog&) = delete;
  ~OperationLog();

  /// How many there were, and the last ones of them, the newest last.
  int64_t count() const;
  std::vector<LoggedOperation> operations() const;
  /// The same as lines: "posted, started, ended (in microseconds), state, bytes, operation", each behind a headline.
  std::string text() const;
  /// Where noteError() writes; empty: nowhere.
  const std::string& file() const { return file_; }
  /// Errors: Io.
  void write(const std::string& path) const;

  /// This rank has an error of a communication, whose text it is: the log is written into file() with it, unless it has
  /// not changed since. A file that cannot be written is told to the log of the process (base/say.h).
  void noteError(std::string_view error) noexcept;
  /// Gives what the call gives. A CommunicationError is noted on its way.
  template <class Call>
  auto withErrorsNoted(const Call& call) -> decltype(call()) {
    try {
      return call();
    } catch (const CommunicationError& error) {
      noteError(error.message());
      throw;
    }
  }

  /// For a work with these communications. Legal requests.
  OperationRuns runsOf(std::span<const CommunicationRequest> group, std::span<const int64_t> team, int64_t epoch);
  /// The work was launched; runs of one work start in the order in which they were posted.
  void post(OperationRuns& runs) noexcept;
  /// `number`: of the first communication.
  void start(OperationRuns& runs, int64_t number) noexcept;
  void end(OperationRuns& runs) noexcept;
  /// The one that runs has failed, or the next one where none runs. Notes the error, too.
  void fail(OperationRuns& runs, const std::exception_ptr& error) noexcept;

 private:
  friend class OperationRuns;
  static constexpr uint64_t kNone = ~uint64_t{0};

  // A place of the ring, and what is the same in all runs of a work.
  struct Entry {
    uint64_t ticket = kNone;  // of all operations, from 0 on
    uint64_t work = 0;
    uint64_t run = 0;                          // of the work, from 0 on
    uint64_t next_run = kNone;                 // its ticket
    std::array<int64_t, 3> ticks = {0, 0, 0};  // posted, started, ended; 0: not yet
    int64_t number = -1;
    int64_t epoch = 0;
    int64_t elements = 0;
    int64_t bytes = 0;
    int64_t from = -1;  // of a transfer
    int64_t to = -1;
    int64_t group_size = 1;
    uint32_t team = 0;  // of teams_
    CommunicationKind kind = CommunicationKind::Gather;
    DataType dtype = DataType::F32;
    OperationState state = OperationState::Posted;
  };

  Entry& at(uint64_t ticket) { return entries_[ticket % kCapacity]; }
  Entry* find(uint64_t ticket, uint64_t work);
  Entry& add(OperationRuns& runs, uint64_t run);
  Entry& takeNext(OperationRuns& runs);
  LoggedOperation operationOf(const Entry& entry, double nanoseconds_per_tick) const;
  std::string textWith(std::string_view error) const;
  void writeWith(const std::string& path, std::string_view error) const;

  const int64_t rank_;
  const int64_t ranks_;
  const std::string file_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  const int64_t first_tick_;
  mutable SpinLock lock_;
  std::array<Entry, kCapacity> entries_;
  uint64_t count_ = 0;
  uint64_t changes_ = 0;
  uint64_t works_ = 0;
  std::vector<std::vector<int64_t>> teams_;
  std::mutex file_lock_;
  uint64_t written_changes_ = kNone;
};

class OperationRuns {
 public:
  OperationRuns() = default;

 private:
  friend class OperationLog;
  OperationLog::Entry facts_;
  uint64_t posted_ = 0;
  uint64_t started_ = 0;
  uint64_t oldest_ = OperationLog::kNone;  // ticket of the next one to start
  uint64_t newest_ = OperationLog::kNone;
  uint64_t running_ = OperationLog::kNone;
};

/// One line of a log, without its end.
std::string describe(const LoggedOperation& operation);

}  // namespace tokamak
