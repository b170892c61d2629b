// ReductionSizes: the number of rows, the size of their inner domain, and other facts that CUDA parameters depend on.
#pragma once

#include "heuristics/outer_reductions.h"

namespace tokamak {

struct ReductionSizes {
  bool has_rows = false;
  bool is_followed = false;       ///< some reduction is followed (ReductionStructure::isFollowed)
  bool needs_whole_rows = false;  ///< a block needs whole rows: there are reductions other than partial outer ones
  bool writes_rows = false;       ///< the kernel stores a tensor as long as a row
  /// No reduction depends on another, so a row may be divided among blocks.
  bool may_split = true;
  bool is_constant = true;  ///< whether the size of the inner (reduction) domain is constant
  int64_t inner = 0;        ///< elements of the inner (reduction) domain
  int64_t rows = 0;
  int64_t max_vector = kAccessBytes;  ///< elements; the widest legal access
};

/// The sizes under `sizes`; a size that is not known counts as large.
ReductionSizes reductionSizesOf(const ReductionStructure& structure, const ScalarBindings& sizes);

}  // namespace tokamak
