// The schedule of one kernel for the processor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "device/kernel_target.h"
#include "heuristics/reduction_structure.h"
#include "ir/fusion.h"

namespace tokamak {

struct CpuScheduleParameters {
  /// Elements that one block of a pointwise kernel computes along the innermost axes.
  int64_t block_elements = 8192;
  /// Neighbouring columns that a block computes in an outer reduction.
  int64_t block_columns = 2048;
  /// Vector accumulators: partial results of an inner reduction.
  int64_t accumulators = 64;
  /// The accumulators are combined pairwise until so many are left, and then one after the other.
  int64_t last_accumulators = 16;
  /// Blocked summation: the number of elements in a partial sum.
  int64_t block_terms = 32;
  /// Split (grid) reduction: a block reduces at least so many elements. The last block to finish combines the partial
  /// results of at most `max_grid_split` blocks.
  int64_t split_elements = 64 * 1024;
  int64_t max_grid_split = 64;
  /// The most bytes that the persistent buffers of one row may take together.
  int64_t persistent_bytes = 512 * 1024;
  /// Transpose template: the bytes of the output along each side of a tile. A side is several cache lines long, which
  /// keeps accesses to memory sequential.
  int64_t tile_bytes = 256;
  bool tiles_transposes = true;  ///< else a transpose is computed like other elements

  bool operator==(const CpuScheduleParameters&) const = default;
};

/// "block elements 8192, block columns 2048, accumulators 64, last accumulators 16, block terms 32, split elements
/// 65536, max grid split 64, persistent bytes 524288, tile bytes 256", and what is not usual.
std::string toString(const CpuScheduleParameters& parameters);

/// A pure function of the fusion, the sizes and the target. The fusion has no schedule yet, and `structure.find()` has
/// succeeded.
CpuScheduleParameters chooseCpuParameters(const ReductionStructure& structure, const KernelTarget& target,
                                          const ScalarBindings& sizes);

/// Why the fusion should be more than one kernel, or nothing.
std::optional<std::string> whyNotForCpu(const ReductionStructure& structure);

/// Gives every tensor its schedule: a block computes a row, some columns or a range of elements. Tensors that follow a
/// reduction share its loops over rows. The fusion has no schedule yet. Errors: Schedule.
void scheduleForCpu(Fusion& fusion, const CpuScheduleParameters& parameters);

}  // namespace tokamak
