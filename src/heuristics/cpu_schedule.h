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
  int64_t chunk = 8192;
  /// The columns that a block computes side by side in an outer reduction.
  int64_t outer_elements = 2048;
  /// Vector accumulators: partial results of an inner reduction.
  int64_t accumulators = 64;
  /// How many accumulators are left when they are combined one after the other.
  int64_t last_accumulators = 16;
  /// Blocked summation: a partial sum adds up so many elements before it is added to the total.
  int64_t terms = 32;
  /// Split (grid) reduction: a block reduces at least so many elements, and the last block to be done combines the
  /// partial results. `most_parts` bounds the number of blocks.
  int64_t part_elements = 64 * 1024;
  int64_t most_parts = 64;
  /// The most bytes that the persistent buffers of one row may take together.
  int64_t persistent_bytes = 512 * 1024;
  /// Transpose template: the bytes of the output along each side of a tile. A side is several cache lines long, so that
  /// memory is not read a line here and a line there.
  int64_t tile_bytes = 256;

  bool operator==(const CpuScheduleParameters&) const = default;
};

/// "chunk 8192, outer elements 2048, accumulators 64, last accumulators 16, terms 32, part elements 65536, most parts
/// 64, persistent bytes 524288, tile bytes 256"
std::string toString(const CpuScheduleParameters& parameters);

/// A pure function of the fusion, the sizes and the target. The fusion has no schedule yet, and `structure.find()` has
/// succeeded.
CpuScheduleParameters chooseCpuParameters(const ReductionStructure& structure, const KernelTarget& target,
                                          const ScalarBindings& sizes);

/// Why the fusion should be more than one kernel, or nothing.
std::optional<std::string> whyNotForCpu(const ReductionStructure& structure);

/// Gives every tensor its schedule: a block computes a row, a chunk or some columns. What follows a reduction goes over
/// the same rows. The fusion has no schedule yet. Errors: Schedule.
void scheduleForCpu(Fusion& fusion, const CpuScheduleParameters& parameters);

}  // namespace tokamak
