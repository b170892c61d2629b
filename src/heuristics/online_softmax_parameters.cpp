#include "heuristics/online_softmax_parameters.h"

#include <array>
#include <optional>

namespace tokamak {

bool isOnlineSoftmaxBetter(bool is_row_written, const CudaScheduleParameters& persistent) {
  constexpr int64_t kManyThreads = 512;
  constexpr int64_t kManyElements = 31;
  return !is_row_written ||
         (persistent.threads > kManyThreads && persistent.persistent_batches * persistent.vector > kManyElements);
}

void chooseOnlineSoftmax(const SoftmaxReductions& row, bool is_row_written, CudaScheduleParameters& parameters) {
  // More of a long row than this for each thread, and the text of all its chunks is longer than what instruction caches
  // hold.
  constexpr int64_t kMostElements = 512;
  // Of a row that is read again a multiprocessor's cache has one, or two short ones with half the registers; of others
  // blocks of few threads wait least.
  const int64_t least_threads = is_row_written ? 1024 : row.length > 1 << 16 ? 512 : 256;
  const bool is_short = is_row_written && row.length <= 1 << 16;
  if (is_short) parameters.unroll = 2;
  const int64_t most = row.length > 512 * kMostElements ? 1024 : least_threads;
  std::optional<int64_t> least;
  for (const int64_t threads : {most, most / 2, most / 4}) {
    for (const int64_t vectors : is_short ? std::array{2, 3, 4, 5} : std::array{4, 5, 3, 6}) {
      const ChunkSize size = {vectors, threads, parameters.vector};
      const int64_t wasted = chunksOf(row.length, size) * size.elements() - row.length;
      if (least && wasted >= *least) continue;
      least = wasted;
      parameters.threads = threads;
      parameters.chunk = vectors;
      if (wasted <= row.length / 32) return;
    }
  }
}

int64_t legalOnlineSoftmaxChunk(const ReductionStructure& structure, const CudaScheduleParameters& parameters) {
  constexpr int64_t kMostChunks = 32;
  constexpr int64_t kMostInRegisters = 64;
  if (parameters.chunk == 0 || parameters.threads == 1 || parameters.persistent_batches > 0) return 0;
  int64_t chunk = parameters.chunk;
  for (const SoftmaxReductions& row : findSoftmaxReductions(structure)) {
    while (chunksOf(row.length, {chunk, parameters.threads * parameters.cluster, parameters.vector}) > kMostChunks)
      ++chunk;
  }
  return chunk * parameters.vector <= kMostInRegisters ? chunk : 0;
}

}  // namespace tokamak
