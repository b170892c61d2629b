// Two-stage outer reduction: a sum over rows becomes partial sums and their sum, where the rows are read for something
// else, too.
//
//   T2[c] = sum over r of T1[r, c]   becomes
//   T3[p, c] = sum over i of T1[i * parts + p, c];   T2[c] = sum over p of T3[p, c]
//
// Who goes over the rows can make the partial sums on the way: each block has some of the rows and one partial sum of
// each column.
#pragma once

#include <cstdint>
#include <memory>

#include "ir/fusion.h"

namespace tokamak {

/// How many parts such sums get.
struct TwoStageParts {
  int64_t of_long_rows =
      1;                   ///< where a row has 8,192 columns or more (and there are two rows for each part; else fewer)
  int64_t most_times = 1;  ///< of shorter rows as many times that as they are shorter, at most so many times,
  int64_t times_of_few = 1;  ///< and so many times where a row has fewer than 768 columns
  int64_t most_rows = 0;     ///< of a part: then there are more of them; 0: any number
  /// Only where an output of the operand's shape depends on sums along rows. Otherwise blocks of columns do all at
  /// once.
  bool only_beside_row_sums = false;
};

/// As many as a GPU of so many multiprocessors has blocks under way, which have 16 or 24 elements of a row per thread,
/// or of few columns several rows.
TwoStageParts twoStagePartsOfGpu(int64_t multiprocessors);
/// Some for each processor, and so many that no sum has a long chain of additions.
TwoStageParts twoStagePartsOfProcessors();

/// Of sums over the outermost axes, whose operand is made of what an output of the operand's shape is made of as well.
/// The operand with as many rows as come out even (the others are 0) is an ordinary pad and reshape.
std::unique_ptr<Fusion> twoStageOuterReduction(const Fusion& fusion, const TwoStageParts& parts);

}  // namespace tokamak
