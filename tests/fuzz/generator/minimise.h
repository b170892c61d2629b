// The minimiser: a small program that still fails, from a large one.
#pragma once

#include <functional>

#include "program.h"

namespace tokamak::generator {

/// Whether a program fails. It is only asked for programs that are legal: that build, and that the reference evaluates.
using Fails = std::function<bool(const Program&)>;

struct MinimiseOptions {
  int64_t max_attempts = 5000;
};

/// Drops outputs and in-place updates, replaces ops by their operands or by inputs, shrinks extents, and simplifies
/// layouts, symbols, types and values, as long as the program fails. `program` must fail.
Program minimise(Program program, const Fails& fails, const MinimiseOptions& options = {});

/// Builds, and is evaluated by the reference without an error.
bool isLegal(const Program& program);

}  // namespace tokamak::generator
