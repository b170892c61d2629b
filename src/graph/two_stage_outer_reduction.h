// Pass two-stage-outer-reduction: an outer sum becomes partial sums and their sum, if its rows are read for something
// else, too.
//
//   T2[c] = sum over r of T1[r, c]   becomes
//   T3[p, c] = sum over i of T1[i * parts + p, c];   T2[c] = sum over p of T3[p, c]
//
// Blocks that compute rows can then compute partial sums, too: each has some of the rows, and a partial sum per column.
#pragma once

#include <cstdint>
#include <memory>

#include "ir/fusion.h"

namespace tokamak {

/// The number of partial sums.
struct TwoStageParts {
  int64_t for_long_rows = 1;  ///< for rows of 8,192 columns or more; fewer if there are less than two rows for each
  int64_t max_multiple = 1;   ///< shorter rows have a multiple of it, at most this,
  int64_t multiple_for_short_rows = 1;  ///< and this multiple below 768 columns
  int64_t max_rows = 0;                 ///< the most rows of a partial sum; 0: no limit
  /// Only if an output of the operand's shape depends on reductions of rows. Otherwise blocks of columns do all at
  /// once.
  bool only_with_row_reductions = false;
};

/// As many as the blocks that run at once on a GPU with so many multiprocessors. A thread has 16 or 24 elements of a
/// row, or several short rows.
TwoStageParts twoStagePartsOfGpu(int64_t multiprocessors);
/// Enough for many processors, and for short chains of additions.
TwoStageParts twoStagePartsOfProcessors();

/// Rewrites sums over the outermost axes if an output of the operand's shape has a common elementwise source with the
/// operand. Rows are padded with 0 to a multiple of the number of partial sums, and reshaped.
std::unique_ptr<Fusion> twoStageOuterReduction(const Fusion& fusion, const TwoStageParts& parts);

}  // namespace tokamak
