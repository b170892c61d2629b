#include "heuristics/stage_choice.h"

#include <algorithm>

#include "heuristics/chunk_choice.h"
#include "heuristics/kept_values.h"

namespace tokamak {

namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kOthers = 8 * kKiB;  // what is combined

// Of the inputs that are kept, in bytes for each element of a row.
int64_t bytesPerElement(const KernelRows& rows) {
  int64_t bytes = 0;
  for (const KeptValue& value : findKeptValues(rows, {.has_inputs_apart = true})) {
    if (!value.rest.empty()) bytes += sizeOf(value.tensor->dtype());
  }
  return bytes;
}

// What one stage takes of a block's shared memory.
int64_t stageBytes(const KernelRows& rows, const RowFacts& facts, const CudaScheduleParameters& parameters) {
  const int64_t at_once = parameters.vector * parameters.threads * parameters.cluster;
  const int64_t of_row = (facts.rest + at_once - 1) / at_once * parameters.vector * parameters.threads;
  return bytesPerElement(rows) * of_row * parameters.rows_per_block * parameters.rows_together;
}

// Results of rows that are outputs. The turns of one that chunks give are a loop of its own.
bool hasResults(const KernelRows& rows) {
  return std::ranges::any_of(rows.stored(), [&](const TensorView* tensor) {
    return isReduced(*tensor) && rows.fusion().isOutput(tensor) && !rows.isColumnPart(*tensor);
  });
}

// Clusters of blocks that run at once, one block on each multiprocessor. Those of 4 and more do not come out even with the groups that multiprocessors
// are wired in: of 132, 30 clusters of 4 run at once.
int64_t clustersAtOnce(const KernelTarget& target, int64_t cluster) {
  const int64_t clusters = target.multiprocessors / cluster;
  return cluster < 4 ? clusters : clusters * 10 / 11;
}

}  // namespace

int64_t legalStages(const KernelRows& rows, const RowFacts& facts, const CudaScheduleParameters& parameters,
                    const KernelTarget& target) {
  if (!facts.is_whole || parameters.threads == 1 || parameters.stages == 0) return 0;
  constexpr int64_t kMostStages = 8;
  const bool has_turns = parameters.row_blocks > 0 || !rows.columnParts().empty();
  if (has_turns && parameters.chunk > 0 && hasResults(rows)) return 0;
  const int64_t bytes = stageBytes(rows, facts, parameters);
  if (bytes == 0) return 0;
  const int64_t room = (target.shared_bytes_per_block - kOthers) / bytes;
  return std::min({parameters.stages, room, has_turns ? kMostStages : 1});
}

bool stageRow(const KernelRows& rows, const RowFacts& facts, const KernelTarget& target, bool may_chunk,
              CudaScheduleParameters& parameters) {
  const int64_t bytes = bytesPerElement(rows) * facts.rest;
  if (bytes == 0) return false;
  CudaScheduleParameters staged = parameters;
  staged.stages = 1;
  // Several blocks run on a multiprocessor, so that some read while others compute; a row of exponentials is better in few.
  constexpr int64_t kOfThree = 72 * kKiB;
  constexpr int64_t kOfFour = 56 * kKiB;
  constexpr int64_t kAlone = 128 * kKiB;
  const int64_t most = !may_chunk ? kOfFour : bytes <= kOfThree ? kOfThree : kAlone;
  while (staged.cluster <= kMostClusterBlocks && bytes > most * staged.cluster) staged.cluster *= 2;
  if (staged.cluster > (target.has_clusters ? kMostClusterBlocks : 1)) return false;
  if (!may_chunk) {
    staged.threads = 256;
  } else if (most == kOfThree) {
    staged.threads = 512;
    staged.chunk = 2;
  } else {
    staged.threads = target.threads_per_block;
    staged.chunk = 4;
    const int64_t at_once = clustersAtOnce(target, staged.cluster);
    if (facts.rows > at_once && mayTakeTurns(rows) && !hasResults(rows)) staged.row_blocks = at_once;
  }
  staged.chunk = legalChunk(rows, staged);
  if ((staged.chunk > 0) != may_chunk || legalStages(rows, facts, staged, target) == 0) return false;
  parameters = staged;
  return true;
}

void stageRowsWithParts(const KernelRows& rows, const RowFacts& facts, const KernelTarget& target,
                        CudaScheduleParameters& parameters) {
  // With one such sum, registers have room for a row, which is faster.
  if (rows.columnParts().size() < 2 || !facts.is_constant || parameters.rows_per_block > 1) return;
  CudaScheduleParameters staged = parameters;
  staged.stages = 2;
  staged.rows_together = 2;
  // As many blocks as there are parts for (graph/split_column_sums.h) run at once.
  constexpr int64_t kOfThree = 72 * kKiB;
  if (staged.stages * stageBytes(rows, facts, staged) > kOfThree) return;
  staged.stages = legalStages(rows, facts, staged, target);
  if (staged.stages == 2) parameters = staged;
}

}  // namespace tokamak
