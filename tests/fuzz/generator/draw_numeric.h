// Drawing programs that are hard to judge: every function and composite on real numbers, quotients by sums, sums of
// powers.
#pragma once

#include <memory>
#include <vector>

#include "draw_data.h"
#include "ir/fusion.h"

namespace tokamak::generator {

/// The program of a seed, with constant sizes: tensors of rows and columns, or of ones where an axis was summed, of
/// every floating type. Integers and comparisons come of casts and tests. All results that nothing reads are outputs.
std::unique_ptr<Fusion> drawNumericProgram(uint64_t seed);

/// Normal numbers of several scales for its inputs, some of them whole.
std::vector<InputData> drawNumericData(const Fusion& fusion, uint64_t seed);

}  // namespace tokamak::generator
