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
  /// Elements along the innermost axis that a block takes where reductions run over outer axes, side by side.
  int64_t outer_elements = 2048;
  /// Partial results of a reduction along the innermost axis.
  int64_t accumulators = 64;
  /// And how many of these are left when they are combined one after the other.
  int64_t last_accumulators = 16;
  /// Elements that a partial sum takes up before it is added to the whole one.
  int64_t terms = 32;
  /// Elements of what is reduced that a block takes at least, where blocks share it and the last to be done combines
  /// what they have; and how many blocks that are at most.
  int64_t part_elements = 64 * 1024;
  int64_t most_parts = 64;
  /// What values may take that are persistent for a row, together.
  int64_t persistent_bytes = 512 * 1024;
  /// Bytes of the output along each side of a tile, where what is read and what is written are neighbours along
  /// different axes: some cache lines, so that memory is not read a line here and a line there.
  int64_t tile_bytes = 256;

  bool operator==(const CpuScheduleParameters&) const = default;
};

/// "chunk 8192, outer elements 2048, accumulators 64, last accumulators 16, terms 32, part elements 65536, most parts
/// 64, persistent bytes 524288, tile bytes 256"
std::string toString(const CpuScheduleParameters& parameters);

/// A pure function of the fusion, the sizes and the target. The fusion has no schedule yet; `structure` was found.
CpuScheduleParameters chooseCpuParameters(const ReductionStructure& structure, const KernelTarget& target,
                                          const ScalarBindings& sizes);

/// Why the fusion should be more than one kernel, or nothing.
std::optional<std::string> whyNotForCpu(const ReductionStructure& structure);

/// Gives every tensor its schedule: a row (or chunk, or some columns) per block; what follows a reduction goes over the
/// same rows. The fusion has no schedule yet. Errors: Schedule.
void scheduleForCpu(Fusion& fusion, const CpuScheduleParameters& parameters);

}  // namespace tokamak
