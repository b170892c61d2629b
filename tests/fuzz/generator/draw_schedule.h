// Drawing Stream schedules for a program: legal by trying.
#pragma once

#include <functional>

#include "program.h"

namespace tokamak::generator {

/// Whether a program with the loop steps that it has can be lowered.
using Accepts = std::function<bool(const Program&)>;

struct DrawnSchedule {
  int64_t streamed = 0;  ///< nodes that a Stream mark was drawn for and kept
  int64_t refused = 0;   ///< attempts that `accepts` refused, taken back
};

/// Gives nodes of the program loop steps: all along one axis, one late result's carried over by propagate, or each on
/// its own; axes themselves, parts of splits (whose factors seldom divide), merged axes, and now and then what cannot
/// be streamed. An attempt that `accepts` refuses is taken back. Reproducible from the seed.
DrawnSchedule drawSchedule(Program& program, uint64_t seed, const Accepts& accepts);

}  // namespace tokamak::generator
