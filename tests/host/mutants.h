// Mutants of a host program: one thing made wrong, the way a lowering could get it wrong.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "host/check/step_list.h"

namespace tokamak {

enum class MutantKind : uint8_t { DropSynchronisation, ChangeStream, MoveRecord, ShrinkWait, FreeEarly, ShiftSlice };

inline constexpr std::array<MutantKind, 6> kAllMutantKinds = {MutantKind::DropSynchronisation, MutantKind::ChangeStream,
                                                              MutantKind::MoveRecord,          MutantKind::ShrinkWait,
                                                              MutantKind::FreeEarly,           MutantKind::ShiftSlice};

/// drop synchronisation, change stream, ...
std::string_view mutantKindName(MutantKind kind);

/// Whether mutants of a kind weaken the order of a program (the others change what it touches).
bool isMissingSynchronisation(MutantKind kind);

struct Mutant {
  MutantKind kind = MutantKind::DropSynchronisation;
  std::string text;  ///< what was done to which step
  StepList list;
};

/// The program without a step.
StepList withoutStep(const StepList& list, size_t step);
/// The program with a step on another stream.
StepList withStream(const StepList& list, size_t step, int32_t stream);
/// The program with step `from` moved to where it is number `to`.
StepList withMovedStep(const StepList& list, size_t from, size_t to);
/// The program in which the wait is for an event recorded just before step `point`, on the stream that it waited for.
StepList withOlderRecord(const StepList& list, size_t wait, size_t point);
/// The program with an access moved by some bytes.
StepList withShiftedAccess(const StepList& list, size_t step, size_t access, int64_t bytes);

/// The record that a Wait step waits for: the last one of its event before it in list order.
std::optional<size_t> recordOf(const StepList& list, size_t wait);

/// Every step whose loss weakens the order (Record, Wait, Join) dropped, and for each step that another kind applies to
/// one mutant with drawn details.
std::vector<Mutant> mutantsOf(const StepList& list, std::mt19937& random);

}  // namespace tokamak
