// Random host programs: small arbitrary ones, and larger ones that are correct by construction.
#pragma once

#include <random>
#include <string>

#include "host/check/step_list.h"

namespace tokamak {

/// At most 8 asynchronous steps on 1 to 4 streams with arbitrary synchronisation; most of them race.
StepList smallProgram(std::mt19937& random);

/// Random work on random slices, with every stream waiting for all others before each step; then synchronisation is
/// dropped in random order while the program stays free of races (by the transitive closure).
StepList synchronisedProgram(std::mt19937& random);

/// What the lowering of streamed axes makes: loops over rows or columns dealt out to streams, hoisted or in-loop
/// synchronisation or one join per worker, circular buffers, communications, in-place steps, and steps between the
/// loops.
StepList loweredProgram(std::mt19937& random);

/// Tries to drop `attempts` synchronisations, keeping each that the closure shows to be needed.
StepList withoutRedundantWaits(StepList list, std::mt19937& random, int64_t attempts);

/// The list as text, a step per line.
std::string describe(const StepList& list);

}  // namespace tokamak
