// The host checker: proves that a list of steps has no races, early releases or overlapping writes.
//
// Two accesses conflict if they share a byte and one of them writes. A chain of edges has to order them: the order of a
// stream, record to wait, post to communication, communication to join.
// - A wait is for the event's last record in list order; an event without a record orders nothing.
// - Only a stream orders two communications.
// - The caller is on stream 0: before the first step it writes every input and output, after the last it uses every
//   buffer again, intermediates included, as the next call uses their memory.
// - Memory that outlives the program, as an arena, is a buffer that stream 0 allocates first, so that every use has to
//   come after the caller's start.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/check/access_overlap.h"
#include "host/check/step_list.h"
#include "host/check/step_uses.h"

namespace tokamak {

/// A violation.
struct RaceReport {
  enum class Kind : uint8_t {
    Race,             ///< `first` and `second` conflict and nothing orders them
    Overlap,          ///< one step writes bytes that it also reads or writes otherwise
    OutOfBounds,      ///< an access leaves its buffer
    BeforeAllocate,   ///< an intermediate is used before it is allocated, in list order
    AfterRelease,     ///< memory is used after it was released, in list order
    DoubleAllocate,   ///< an intermediate is allocated twice
    DoubleRelease,    ///< a buffer is released twice
    ReleaseOfCaller,  ///< an input or output is released: it belongs to the caller
    JoinWithoutPost,  ///< a communication is joined that was not posted before
  };
  static constexpr int64_t kEntry = kEntryStep;

  Kind kind = Kind::Race;
  int64_t first = kEntry;  ///< step number; equal to `second` if one step alone is at fault
  int64_t second = 0;      ///< step number, later in list order
  int32_t buffer = -1;     ///< -1 where no buffer is concerned
  ByteRange first_bytes;   ///< from the first to the last byte of each access
  ByteRange second_bytes;
  std::string message;  ///< with the steps, streams, buffer, bytes, and what would order them
};

/// The lower-case name of a kind of report: "race", "overlap", "out of bounds", ...
std::string_view raceKindName(RaceReport::Kind kind);

struct CheckOptions {
  int64_t report_limit = 1000;  ///< the most races reported; a program without its waits has millions
};

/// All violations of `list`, by second step; each pair of steps that races on a buffer is one report. Raises
/// HostProgram for a list that is no program: unknown buffer, stream or event numbers, negative sizes.
std::vector<RaceReport> checkStepList(const StepList& list, CheckOptions options = {});

/// Raises Race with the first reports, unless there are none.
void requireRaceFree(const StepList& list);

/// A synchronisation step, and whether the program has more races without it.
struct WaitNeed {
  int64_t step = 0;
  bool is_necessary = false;
};

/// One entry for each Wait and Join step, in list order. Checks the program once for each.
std::vector<WaitNeed> listNecessaryWaits(const StepList& list);

}  // namespace tokamak
