// ReductionSizes: sizes and facts of the rows and their inner domain, on which the schedule depends.
#pragma once

#include "heuristics/outer_reductions.h"

namespace tokamak {

struct ReductionSizes {
  bool has_rows = false;
  bool is_followed = false;
  bool is_whole = false;    ///< something needs whole rows
  bool is_written = false;  ///< row by row: what reads reductions is as long as what they reduce
  /// No reduction depends on another, so a row may be divided among blocks.
  bool may_split = true;
  bool is_constant = true;  ///< the size of the inner (reduction) domain
  int64_t inner = 0;        ///< elements of the inner (reduction) domain
  int64_t rows = 0;
  int64_t vector = kAccessBytes;
};

/// What is not known of the sizes counts as large.
ReductionSizes reductionSizesOf(const ReductionStructure& structure, const ScalarBindings& sizes);

}  // namespace tokamak
