// Shared-memory persistent kernels: which inputs of rows are persistent in shared memory, and in how many pipeline
// stages.
#pragma once

#include "heuristics/cuda_schedule.h"
#include "heuristics/reduction_sizes.h"

namespace tokamak {

/// Makes the stages as few as shared memory has room for, and one where each block computes one row only. Inputs that
/// all rows share are persistent if the grid is, and if they fit beside the stages.
void legaliseStages(const ReductionStructure& structure, const ReductionSizes& facts, const KernelTarget& target,
                    CudaScheduleParameters& parameters);

/// For rows that registers cannot hold and that are read again after a reduction: makes their inputs persistent in
/// shared memory, of a cluster of blocks where one block has too little. Gives whether it changed the parameters so.
/// (docs/gpu_performance.md has the measurements.)
bool chooseSharedMemoryPersistent(const ReductionStructure& structure, const ReductionSizes& facts,
                                  const KernelTarget& target, bool may_chunk, CudaScheduleParameters& parameters);

/// For long rows that registers could hold: makes their one input persistent in shared memory instead, if nothing
/// computed from it is worth keeping. Gives whether it changed the parameters so.
bool preferSharedMemoryPersistent(const ReductionStructure& structure, const ReductionSizes& facts,
                                  const KernelTarget& target, CudaScheduleParameters& parameters);

/// For inner-outer persistent kernels: makes their rows' inputs, one row ahead, and what all rows share persistent in
/// shared memory, where all blocks at once have room for that.
void chooseInnerOuterPersistent(const ReductionStructure& structure, const ReductionSizes& facts,
                                const KernelTarget& target, CudaScheduleParameters& parameters);

}  // namespace tokamak
