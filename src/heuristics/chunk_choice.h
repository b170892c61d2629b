// The parameters of rows in chunks.
#pragma once

#include "heuristics/chunked_maxima.h"
#include "heuristics/cuda_schedule.h"

namespace tokamak {

/// Whether chunks are better than a row that these parameters keep: where nothing but its reductions reads the row (no
/// tensor as long as the row is written), so that nothing waits for its maximum, and where a block of many threads
/// leaves few registers to each.
bool areChunksBetter(bool is_row_written, const CudaScheduleParameters& kept);

/// Threads and vectors of a chunk for a row of 16-byte vectors: about four, by which little is wasted at its end.
void chooseChunks(const RowMaximum& row, bool is_row_written, CudaScheduleParameters& parameters);

/// The parameters' chunk, or a larger one, of which registers have room for all of a thread; 0 where there is none, or
/// where rows are kept.
int64_t legalChunk(const KernelRows& rows, const CudaScheduleParameters& parameters);

}  // namespace tokamak
