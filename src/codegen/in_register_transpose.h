// In-register transposes: two nested loops that only write a buffer's columns as rows. Compilers would turn them into
// single loads and stores.
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

/// What the loop and the only one in it do, if they are such loops from a Local buffer.
std::optional<InRegisterTranspose> findInRegisterTranspose(const kir::Loop& loop, Fusion& fusion,
                                                           IntervalAnalysis& analysis);

/// What two loops read row by row: elements first + i * stride + j of a tensor in global memory, i and j being their
/// indices.
struct RowsRead {
  const TensorView* tensor = nullptr;
  Scalar* first = nullptr;
  Scalar* stride = nullptr;
  int64_t bytes = 0;  ///< of a row
};

/// If the loop and the only one in it fill the buffer: the rows that they read; nothing otherwise.
std::optional<std::vector<RowsRead>> findRowsRead(const kir::Loop& loop, const TensorView& buffer, Fusion& fusion,
                                                  IntervalAnalysis& analysis);

}  // namespace tokamak
