// Shared-memory persistent kernels: which rows' inputs are persistent in shared memory, in how many pipeline stages.
#pragma once

#include "heuristics/cuda_schedule.h"
#include "heuristics/reduction_sizes.h"

namespace tokamak {

/// Makes the stages no more than shared memory has room for, and one where each block has one row only; inputs that are
/// the same for all rows are persistent where the grid is, and beside the stages is room for them.
void legaliseStages(const ReductionStructure& structure, const ReductionSizes& facts, const KernelTarget& target,
                    CudaScheduleParameters& parameters);

/// For rows that registers do not hold, and that are read again after they were reduced: keeps their inputs in shared
/// memory, of a cluster of blocks where one has not the room. Whether the parameters are such now.
/// (docs/gpu_performance.md: what was measured.)
bool chooseSharedMemoryPersistent(const ReductionStructure& structure, const ReductionSizes& facts,
                                  const KernelTarget& target, bool may_chunk, CudaScheduleParameters& parameters);

/// For long rows that registers could hold: keeps their one input in shared memory instead, if nothing that is computed
/// of it is worth keeping. Whether the parameters are such now.
bool preferSharedMemoryPersistent(const ReductionStructure& structure, const ReductionSizes& facts,
                                  const KernelTarget& target, CudaScheduleParameters& parameters);

/// For the rows of inner-outer persistent kernels: keeps their inputs, and what is the same for all
/// rows, in shared memory, one row ahead, where all blocks have room for that at once.
void chooseInnerOuterPersistent(const ReductionStructure& structure, const ReductionSizes& facts,
                                const KernelTarget& target, CudaScheduleParameters& parameters);

}  // namespace tokamak
