// The recompute factor: how many elements of an intermediate tensor one element of an output needs.
#pragma once

#include <cstdint>

#include "ir/fusion.h"

namespace tokamak {

/// The largest number of indices at which one element of an output reads an intermediate tensor: 1 for elementwise ops,
/// 2 for the sum of a tensor and its shifted copy, 4 for two such sums in a row. Reductions count as stored.
/// Stops counting at `most` + 1.
int64_t recomputeFactor(const Fusion& fusion, int64_t most);

}  // namespace tokamak
