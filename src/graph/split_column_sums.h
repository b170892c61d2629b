// SplitColumnSums: a sum over rows becomes partial sums and their sum, where the rows are read for something else, too.
//
//   T2[c] = sum over r of T1[r, c]   becomes   T3[p, c] = sum over i of T1[i * parts + p, c];   T2[c] = sum over p of T3[p, c]
//
// Who goes over the rows can make the partial sums on the way: each block has some of the rows and one partial sum of each column.
#pragma once

#include <cstdint>
#include <memory>

#include "ir/fusion.h"

namespace tokamak {

/// Of sums over the outermost axes, whose operand is made of what an output of the operand's shape is made of as well. The operand with as many rows as
/// come out even (the others are 0) is an ordinary pad and reshape. There are as many parts as a GPU of so many multiprocessors has blocks under way: three on each
/// where rows have up to 4,096 columns, else one.
std::unique_ptr<Fusion> splitColumnSums(const Fusion& fusion, int64_t multiprocessors);

}  // namespace tokamak
