// Shared-memory persistent kernels: which inputs are persistent in shared memory, and with how many pipeline stages.
#pragma once

#include "heuristics/cuda_schedule.h"
#include "heuristics/reduction_sizes.h"

namespace tokamak {

/// Reduces the stages to what shared memory has room for, and to one where each block computes one row. Inputs that all
/// rows share are persistent only in a persistent grid, and if they fit beside the stages.
void legaliseStages(const ReductionStructure& structure, const ReductionSizes& facts, const KernelTarget& target,
                    CudaScheduleParameters& parameters);

/// For rows that do not fit in registers and are read again after a reduction: makes their inputs persistent in shared
/// memory, that of a cluster where one block has too little. Returns whether it changed the parameters.
/// (docs/gpu_performance.md has the measurements.)
bool chooseSharedMemoryPersistent(const ReductionStructure& structure, const ReductionSizes& facts,
                                  const KernelTarget& target, bool may_chunk, CudaScheduleParameters& parameters);

/// For long rows that fit in registers: makes their one input persistent in shared memory instead, if no computed value
/// is worth keeping. Returns whether it changed the parameters.
bool preferSharedMemoryPersistent(const ReductionStructure& structure, const ReductionSizes& facts,
                                  const KernelTarget& target, CudaScheduleParameters& parameters);

/// For inner-outer persistent kernels: makes inputs persistent in shared memory, in two stages, if all blocks fit on
/// the GPU at once then.
void chooseInnerOuterPersistent(const ReductionStructure& structure, const ReductionSizes& facts,
                                const KernelTarget& target, CudaScheduleParameters& parameters);

}  // namespace tokamak
