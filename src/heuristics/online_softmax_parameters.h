// The parameters of kernels with an online softmax.
#pragma once

#include "heuristics/cuda_schedule.h"
#include "heuristics/online_softmax.h"

namespace tokamak {

/// Whether chunks are better than a row that these parameters keep: where nothing but its reductions reads the row (no
/// tensor as long as the row is written), so that nothing waits for its maximum, and where a block of many threads
/// leaves few registers to each.
bool isOnlineSoftmaxBetter(bool is_row_written, const CudaScheduleParameters& persistent);

/// Threads and vectors of a chunk for a row of 16-byte vectors: about four, by which little is wasted at its end.
void chooseOnlineSoftmax(const SoftmaxReductions& row, bool is_row_written, CudaScheduleParameters& parameters);

/// The parameters' chunk, or a larger one, of which registers have room for all of a thread; 0 where there is none, or
/// where rows are persistent.
int64_t legalOnlineSoftmaxChunk(const ReductionStructure& structure, const CudaScheduleParameters& parameters);

}  // namespace tokamak
