// In-register transposes: two nested loops that only store a buffer's columns as rows. Compilers would make them scalar
// loads and stores.
#pragma once

#include <optional>
#include <vector>

#include "kernel/kernel.h"
#include "symbolic/interval_analysis.h"

namespace tokamak {

/// to[first_to + i * to_stride + j] = from[first_from + j * from_stride + i] for i in [0, rows), j in [0, columns).
struct InRegisterTranspose {
  const TensorView* to = nullptr;
  const TensorView* from = nullptr;
  Scalar* first_to = nullptr;
  Scalar* to_stride = nullptr;
  Scalar* first_from = nullptr;
  Scalar* from_stride = nullptr;
  Scalar* rows = nullptr;
  Scalar* columns = nullptr;
};

/// The transpose that the loop and the only one in it do, if they do one from a Local buffer.
std::optional<InRegisterTranspose> findInRegisterTranspose(const kir::Loop& loop, Fusion& fusion,
                                                           IntervalAnalysis& analysis);

/// Rows that two nested loops read: elements first + i * stride + j of a tensor in global memory, i and j the loops'
/// indices.
struct RowsRead {
  const TensorView* tensor = nullptr;
  Scalar* first = nullptr;
  Scalar* stride = nullptr;
  int64_t bytes = 0;  ///< of a row
};

/// The rows that the loop and the only one in it read, if they fill the buffer.
std::optional<std::vector<RowsRead>> findRowsRead(const kir::Loop& loop, const TensorView& buffer, Fusion& fusion,
                                                  IntervalAnalysis& analysis);

}  // namespace tokamak
