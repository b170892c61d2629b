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
  int64_t vector = 1;     ///< elements of a vectorised access
  int64_t threads = 128;  ///< threads of a block along a row, or over the elements of a pointwise output
  /// Persistent batches per thread: the vectors of a row that a thread keeps in registers. 0: every reduction reads the
  /// row again.
  int64_t persistent_batches = 0;
  int64_t rows_per_block = 1;  ///< rows that a block computes side by side
  int64_t unroll = 1;          ///< vectors that a thread loads at once from a row that is not persistent
  /// Split (grid) reductions: the number of blocks that share one result of an outer or an inner reduction. The last
  /// block to finish combines the partial results.
  int64_t outer_grid_split = 1;
  int64_t inner_grid_split = 1;
  /// Block dimensions of an outer reduction, powers of two. Each thread along x has one vector of columns; the threads
  /// along y share them.
  int64_t block_x = 32;
  int64_t block_y = 16;
  /// Online softmax (heuristics/online_softmax.h): vectors per thread of a chunk, for rows that are not persistent. 0:
  /// no online softmax.
  int64_t chunk = 0;
  /// Pipeline stages of a shared-memory persistent kernel: buffers for a row's inputs, all but one of which are filled
  /// ahead by asynchronous copies. 0: the persistent buffers are in registers.
  int64_t stages = 0;
  bool persistent_outer = false;      ///< inputs that all rows share are persistent in shared memory, too
  bool splits_row_over_grid = false;  ///< blocks split a row: nothing needs all of it
  int64_t cluster = 1;                ///< blocks that share a row as a cluster
  /// Persistent grid: the number of blocks (or clusters), each of which computes several rows. 0: one for each row.
  int64_t persistent_grid = 0;
  int64_t rows_together = 1;     ///< rows that a thread computes in one iteration (unrolled)
  bool tiles_transposes = true;  ///< a transpose goes through tiles in shared memory

  bool operator==(const CudaScheduleParameters&) const = default;
};

/// The most elements of a row that a thread keeps in registers. At least as many registers are left for the rest.
inline constexpr int64_t kMostPersistent = 64;

/// "vector 8, threads 128, persistent batches 4, rows 1, unroll 1, outer grid split 1"
std::string toString(const CudaScheduleParameters& parameters);

/// Why one kernel is a bad choice on a GPU, or nothing.
std::optional<std::string> whyNotForCuda(const ReductionStructure& structure);

/// A pure function of the fusion, the sizes and the target. The fusion has no schedule yet.
CudaScheduleParameters chooseCudaParameters(const ReductionStructure& structure, const KernelTarget& target,
                                            const ScalarBindings& sizes);

/// Makes parameters legal for the fusion and the target, by lowering values. Vectors divide extents, batches are
/// persistent only where sizes are constant, and shared memory has room for the stages.
CudaScheduleParameters legalParameters(const ReductionStructure& structure, CudaScheduleParameters parameters,
                                       const ScalarBindings& sizes, const KernelTarget& target = hopperTarget());

/// Gives every tensor its schedule. Errors: Schedule.
void scheduleForCuda(const ReductionStructure& structure, const CudaScheduleParameters& parameters);

}  // namespace tokamak
