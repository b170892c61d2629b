// RowFacts: what the schedule of the tensors with rows depends on.
#pragma once

#include "heuristics/cuda_rows.h"

namespace tokamak {

struct RowFacts {
  bool has_rows = false;
  bool is_followed = false;
  bool is_whole = false;    ///< something needs whole rows
  bool is_written = false;  ///< row by row: what reads reductions is as long as what they reduce
  /// Reductions of rows that follow none, and single elements computed from them: blocks may have parts of a row.
  bool may_split = true;
  bool is_constant = true;  ///< how much is in a row
  int64_t rest = 0;         ///< that much, in elements
  int64_t rows = 0;
  int64_t vector = kAccessBytes;
};

/// What is not known of the sizes counts as large.
RowFacts rowFactsOf(const KernelRows& rows, const ScalarBindings& sizes);

}  // namespace tokamak
