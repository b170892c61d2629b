// ReductionSizes: the sizes of rows and of their inner domain, and what a schedule asks of them.
#pragma once

#include "heuristics/outer_reductions.h"

namespace tokamak {

struct ReductionSizes {
  bool has_rows = false;
  bool is_followed = false;
  bool is_whole = false;    ///< something needs whole rows
  bool is_written = false;  ///< something as long as a row is written: it reads the row's reductions
  /// No reduction depends on another, so a row may be divided among blocks.
  bool may_split = true;
  bool is_constant = true;  ///< whether the size of the inner (reduction) domain is constant
  int64_t inner = 0;        ///< elements of the inner (reduction) domain
  int64_t rows = 0;
  int64_t vector = kAccessBytes;
};

/// The sizes under `sizes`; a size that is not known counts as large.
ReductionSizes reductionSizesOf(const ReductionStructure& structure, const ScalarBindings& sizes);

}  // namespace tokamak
