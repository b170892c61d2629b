// The parameters of kernels with an online softmax.
#pragma once

#include "heuristics/cuda_schedule.h"
#include "heuristics/online_softmax.h"

namespace tokamak {

/// Whether an online softmax is better than a row that is persistent with these parameters: if only the row's
/// reductions read it (no tensor as long as the row is written), or if large blocks leave few registers to each thread.
bool isOnlineSoftmaxBetter(bool is_row_written, const CudaScheduleParameters& persistent);

/// Chooses the threads and vectors of a chunk for a row of 16-byte vectors: about four vectors, with little waste at
/// the row's end.
void chooseOnlineSoftmax(const SoftmaxReductions& row, bool is_row_written, CudaScheduleParameters& parameters);

/// The chunk of the parameters, or a larger one, such that a thread's results of all chunks fit in registers. 0 where
/// there is none, or where rows are persistent.
int64_t legalOnlineSoftmaxChunk(const ReductionStructure& structure, const CudaScheduleParameters& parameters);

}  // namespace tokamak
