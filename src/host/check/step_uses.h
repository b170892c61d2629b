// StepUses: the accesses of a program in normal form, and those of its caller.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "host/check/access_overlap.h"
#include "host/check/step_list.h"

namespace tokamak {

enum class AccessMode : uint8_t { Read, Write };

/// A use of a buffer by a step. An access out of bounds, which is reported elsewhere, is an empty use.
struct StepUse {
  ByteBox box;
  int64_t step = 0;
  int32_t buffer = 0;
  AccessMode mode = AccessMode::Read;
};

/// The step number of the caller's entry. (That of its exit is the number of steps.)
inline constexpr int64_t kEntryStep = -1;

/// Whether steps of a kind name an event or a communication.
inline bool isEventKind(StepKind kind) { return kind >= StepKind::Record; }

/// Whether steps of a kind begin or end a buffer's life, which counts as a write of all of it.
inline bool isMemoryKind(StepKind kind) { return kind == StepKind::Allocate || kind == StepKind::Release; }

/// Whether bytes lie inside a buffer.
inline bool fits(ByteRange range, const StepBuffer& buffer) { return range.begin >= 0 && range.end <= buffer.bytes; }

/// Raises HostProgram for a list that is no program: unknown buffer, stream or event numbers, negative sizes.
void requireForm(const StepList& list);

class StepUses {
 public:
  /// `list` must have the form that requireForm() demands, and live as long.
  explicit StepUses(const StepList& list);

  /// In the order of the step's accesses.
  std::span<const StepUse> of(size_t step) const {
    return std::span(uses_).subspan(first_[step], first_[step + 1] - first_[step]);
  }
  /// The caller's writes before the program, of all buffers, and its uses after it.
  std::span<const StepUse> entry() const { return std::span(uses_).subspan(first_.back()); }
  std::span<const StepUse> exit() const { return exit_; }
  /// Those of all steps, then those at the entry.
  std::span<const StepUse> all() const { return uses_; }

 private:
  std::vector<StepUse> uses_;
  std::vector<size_t> first_;  // of each step, then of the entry
  std::vector<StepUse> exit_;
};

}  // namespace tokamak
