// The schedule of one kernel for an NVIDIA GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "device/kernel_target.h"
#include "heuristics/reduction_structure.h"

namespace tokamak {

/// What the schedule of a kernel is made from; docs/kernels.md says how it is chosen.
struct CudaScheduleParameters {
  int64_t vector = 1;     ///< neighbouring elements that a thread takes together
  int64_t threads = 128;  ///< of a block, along a row or over the elements of a pointwise output
  /// Persistent batches per thread: vectors of a row that a thread keeps in registers; 0: rows are read again for every
  /// reduction.
  int64_t persistent_batches = 0;
  int64_t rows_per_block = 1;  ///< rows that a block takes side by side
  int64_t unroll = 1;          ///< vectors that a thread has under way in a row that is not persistent
  /// Split (grid) reductions: blocks that reduce parts of one result of an outer or of an inner reduction; the last one
  /// to be done combines the parts.
  int64_t outer_grid_split = 1;
  int64_t inner_grid_split = 1;
  /// Block dimensions of an outer reduction, powers of two: x along contiguous memory, one result (column) each; the
  /// threads along y share a column.
  int64_t block_x = 32;
  int64_t block_y = 16;
  /// Vectors of a chunk (heuristics/online_softmax.h), of rows that are not persistent; 0: a maximum is complete before
  /// a sum of exponentials begins.
  int64_t chunk = 0;
  /// Pipeline stages of a shared-memory persistent kernel: buffers for a row's persistent inputs, filled
  /// asynchronously, all but one of them ahead; 0: the inputs are persistent in registers.
  int64_t stages = 0;
  bool persistent_outer = false;      ///< inputs that are the same for all rows are in shared memory, too
  bool splits_row_over_grid = false;  ///< blocks side by side have a row's batches: nothing needs all of it
  int64_t cluster = 1;                ///< blocks that share a row, as a cluster
  /// Blocks (or clusters) of a persistent grid, each with several rows; 0: one for each row.
  int64_t persistent_grid = 0;
  int64_t rows_together = 1;  ///< rows that the threads of a block compute in one iteration

  bool operator==(const CudaScheduleParameters&) const = default;
};

/// Elements of a row that a thread keeps at most; registers for as much again are left.
inline constexpr int64_t kMostPersistent = 64;

/// "vector 8, threads 128, persistent batches 4, rows 1, unroll 1, outer grid split 1"
std::string toString(const CudaScheduleParameters& parameters);

/// What such a kernel is not good at, or nothing.
std::optional<std::string> whyNotForCuda(const ReductionStructure& structure);

/// A pure function of the fusion, the sizes and the target. The fusion has no schedule yet.
CudaScheduleParameters chooseCudaParameters(const ReductionStructure& structure, const KernelTarget& target,
                                            const ScalarBindings& sizes);

/// The parameters with those values that do not fit the fusion and the target made smaller: vectors that divide,
/// batches that are persistent only where sizes are constant, stages that shared memory has room for.
CudaScheduleParameters legalParameters(const ReductionStructure& structure, CudaScheduleParameters parameters,
                                       const ScalarBindings& sizes, const KernelTarget& target = hopperTarget());

/// Gives every tensor its schedule. Errors: Schedule.
void scheduleForCuda(const ReductionStructure& structure, const CudaScheduleParameters& parameters);

}  // namespace tokamak
