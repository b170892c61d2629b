// Which rows' inputs are kept in shared memory, in how many stages.
#pragma once

#include "heuristics/cuda_schedule.h"
#include "heuristics/row_facts.h"

namespace tokamak {

/// Not more than the parameters' stages, and as many as shared memory has room for; more than one only where blocks take rows in turns.
int64_t legalStages(const KernelRows& rows, const RowFacts& facts, const CudaScheduleParameters& parameters,
                    const KernelTarget& target);

/// For rows that registers do not hold, and that are read again after they were reduced: keeps their inputs in shared memory, of a cluster of blocks where
/// one has not the room. Whether the parameters are such now. (docs/gpu_performance.md: what was measured.)
bool stageRow(const KernelRows& rows, const RowFacts& facts, const KernelTarget& target, bool may_chunk,
              CudaScheduleParameters& parameters);

/// For rows that blocks take in turns and make sums of columns of: several such sums leave registers for no row.
void stageRowsWithParts(const KernelRows& rows, const RowFacts& facts, const KernelTarget& target,
                        CudaScheduleParameters& parameters);

}  // namespace tokamak
