// The recompute factor: how often a kernel would compute a value, at different elements, for one element of what it
// stores.
#pragma once

#include <cstdint>

#include "ir/fusion.h"

namespace tokamak {

/// The recompute factor: the largest number of indices at which one element of a result reads one of the tensors that
/// are computed on the way: 1 for ops that read their operands where they write, 2 for the sum of a tensor and of
/// itself moved by one, 4 for two such sums one after the other. Reductions and their results count as stored. Stops
/// counting at `most` + 1.
int64_t recomputeFactor(const Fusion& fusion, int64_t most);

}  // namespace tokamak
