#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

#include "base/ceil_divide.h"
#include "heuristics/axis_groups.h"
#include "heuristics/chunk_choice.h"
#include "heuristics/cuda_rows.h"
#include "heuristics/cuda_schedule.h"
#include "heuristics/row_facts.h"
#include "heuristics/stage_choice.h"
#include "heuristics/values_by_hand.h"

namespace tokamak {

static int64_t roundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

std::string toString(const CudaScheduleParameters& parameters) {
  std::string text = fmt::format("vector {}, threads {}, batches {}, rows {}, unroll {}, column blocks {}",
                                 parameters.vector, parameters.threads, parameters.batches, parameters.rows_per_block,
                                 parameters.unroll, parameters.column_blocks);
  if (parameters.column_threads != kWarp) text += fmt::format(" of {} threads", parameters.column_threads);
  if (parameters.across != kColumnBlockThreads / kWarp) text += fmt::format(", {} across", parameters.across);
  if (parameters.row_parts > 1) text += fmt::format(", row parts {}", parameters.row_parts);
  if (parameters.chunk > 0) text += fmt::format(", chunk {}", parameters.chunk);
  if (parameters.stages > 0) text += fmt::format(", stages {}", parameters.stages);
  if (parameters.keeps_columns) text += ", columns kept";
  if (parameters.spreads_rows) text += ", rows over blocks";
  if (parameters.cluster > 1) text += fmt::format(", cluster {}", parameters.cluster);
  if (parameters.row_blocks > 0) text += fmt::format(", row blocks {}", parameters.row_blocks);
  if (parameters.rows_together > 1) text += fmt::format(", together {}", parameters.rows_together);
  return text;
}

std::optional<std::string> whyNoCudaKernel(const KernelRows& rows) {
  const Strides strides = globalStrides(rows.fusion());
  const auto isAcross = [&](const TensorView* tensor) {
    return isReduced(*tensor) && !rows.isColumnPart(*tensor) && !isAlongRows(rows, *tensor, strides);
  };
  if (!rows.columnParts().empty()) {
    const auto found = std::ranges::find_if(rows.stored(), isAcross);
    if (found == rows.stored().end()) return std::nullopt;
    return fmt::format("{} reduces columns, others rows", nameOf(**found));
  }
  if (std::ranges::none_of(rows.stored(), isAcross)) return std::nullopt;
  return whyNotInColumns(rows, strides);
}

// Whether the batches hold a row, in registers.
static bool canKeep(const RowFacts& facts, const CudaScheduleParameters& parameters) {
  return facts.is_constant && parameters.batches * parameters.vector <= kMostKept &&
         parameters.batches * parameters.vector * parameters.threads * parameters.cluster >= facts.rest;
}

constexpr int64_t kMostTogether = 8;
constexpr int64_t kMostColumnThreads = 128;
constexpr int64_t kThreadPerRow = 4;  // elements

// Whether a thread may have whole rows, in registers. Parts of columns have a loop of their own around the rows.
static bool hasTinyRows(const KernelRows& rows, const RowFacts& facts) {
  const bool is_tiny = facts.is_constant && facts.rest > 0 && facts.rest <= kThreadPerRow;
  return is_tiny && rows.columnParts().empty() && !rows.isSingleBlock();
}

static int64_t vectorOfTinyRow(const RowFacts& facts, int64_t vector) {
  while (facts.rest % vector != 0) vector /= 2;
  return vector;
}

// Whether the threads of a block have all of each column, in so many batches.
static bool areColumnsWithin(const KernelRows& rows, const CudaScheduleParameters& parameters) {
  return std::ranges::all_of(rows.stored(), [&](const TensorView* tensor) {
    if (!rows.hasRows(*tensor)) return true;
    const auto rest = productOf(*tensor, rowLoopsOf(rows, *tensor).rest, {});
    return rest && *rest <= parameters.batches * parameters.across;
  });
}

static bool canKeepColumns(const KernelRows& rows, const CudaScheduleParameters& parameters) {
  constexpr int64_t kMost = 2 * kMostKept;  // of narrow types; what is too wide is not kept
  return parameters.batches * parameters.vector <= kMost && areColumnsWithin(rows, parameters);
}

CudaScheduleParameters legalParameters(const KernelRows& rows, CudaScheduleParameters parameters,
                                       const ScalarBindings& sizes, const KernelTarget& target) {
  const RowFacts facts = rowFactsOf(rows, sizes);
  const bool is_in_columns = isInColumns(rows, globalStrides(rows.fusion()));
  const bool needs_columns = needsWholeColumns(rows, is_in_columns);
  if (needs_columns) parameters.column_blocks = 1;
  const auto power = [](int64_t value, int64_t most) {
    return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::clamp<int64_t>(value, 1, most))));
  };
  parameters.column_threads = power(parameters.column_threads, kMostColumnThreads);
  parameters.across = power(parameters.across, kColumnBlockThreads / parameters.column_threads);
  if (!facts.has_rows) {
    parameters.cluster = parameters.rows_together = parameters.row_parts = 1;
    parameters.row_blocks = parameters.stages = 0;
    parameters.keeps_columns = false;
    return parameters;
  }
  parameters.vector = std::min(parameters.vector, facts.vector);
  const int64_t column_batches = needs_columns && canKeepColumns(rows, parameters) ? parameters.batches : 0;
  parameters.rows_per_block =
      std::clamp<int64_t>(target.threads_per_block / parameters.threads, 1, parameters.rows_per_block);
  if (!facts.may_split || parameters.threads == 1) parameters.row_parts = 1;
  if (parameters.row_parts > 1) {
    parameters.cluster = parameters.rows_together = 1;
    parameters.batches = parameters.row_blocks = parameters.chunk = parameters.stages = 0;
    parameters.spreads_rows = parameters.keeps_columns = false;
    return parameters;
  }
  parameters.spreads_rows = parameters.spreads_rows && !facts.is_whole && parameters.threads > 1;
  const bool may_share = facts.is_whole && parameters.threads > 1;
  parameters.cluster = may_share ? std::clamp<int64_t>(parameters.cluster, 1, kMostClusterBlocks) : 1;
  if (!mayTakeTurns(rows) || parameters.row_blocks == 1) parameters.row_blocks = 0;
  const bool has_tiny_rows = parameters.threads == 1 && !is_in_columns && hasTinyRows(rows, facts);
  if (has_tiny_rows) {
    parameters.row_blocks = 0;
    parameters.vector = vectorOfTinyRow(facts, parameters.vector);
    parameters.batches = facts.rest / parameters.vector;
  } else if (parameters.spreads_rows) {
    parameters.batches = 1;
  } else if (parameters.threads == 1 || !canKeep(facts, parameters)) {
    parameters.batches = 0;
  }
  parameters.chunk = legalChunk(rows, parameters);
  const bool is_row_per_block = parameters.batches > 0 && parameters.rows_per_block == 1 && !parameters.spreads_rows;
  const bool may_join = has_tiny_rows || is_row_per_block;
  parameters.rows_together = may_join ? std::clamp<int64_t>(parameters.rows_together, 1, kMostTogether) : 1;
  chooseLegalStages(rows, facts, target, parameters);
  if (is_in_columns) parameters.batches = column_batches;
  return parameters;
}

// Reductions across what lies side by side in memory, of which there are many beside one another.
static std::vector<const TensorView*> columnReductions(const KernelRows& rows) {
  const Strides strides = globalStrides(rows.fusion());
  std::vector<const TensorView*> reductions;
  for (const TensorView* tensor : rows.stored()) {
    if (!isReduced(*tensor) || rows.isColumnPart(*tensor) || rows.rowsOf(*tensor).empty()) continue;
    if (!isAlongRows(rows, *tensor, strides)) reductions.push_back(tensor);
  }
  return reductions;
}

// What sums over rows are like: the one with the most columns, in vectors, and those with the fewest and the most rows.
struct ColumnFacts {
  int64_t vectors = 0;
  int64_t rows = INT64_MAX;
  int64_t most_rows = 0;
  bool may_split = true;    // among blocks
  bool is_constant = true;  // how many rows there are
};

static ColumnFacts columnFactsOf(const KernelRows& rows, bool is_in_columns, const ScalarBindings& sizes,
                                 int64_t widest) {
  constexpr int64_t kMany = 1 << 20;
  ColumnFacts facts;
  for (const TensorView* tensor : columnReductions(rows)) {
    const RowLoops loops = rowLoopsOf(rows, *tensor);
    const auto columns = productOf(*tensor, loops.rows, sizes);
    const auto reduced = productOf(*tensor, loops.rest, sizes);
    int64_t vector = widest;
    while (columns && vector > 1 && *columns % vector != 0) vector /= 2;
    facts.vectors = std::max(facts.vectors, columns ? (*columns + vector - 1) / vector : kWarp);
    facts.rows = std::min(facts.rows, reduced.value_or(0));
    facts.most_rows = std::max(facts.most_rows, reduced.value_or(kMany));
    facts.is_constant = facts.is_constant && productOf(*tensor, loops.rest, {}).has_value();
    facts.may_split = facts.may_split && columns && reduced;
  }
  facts.may_split = facts.may_split && !needsWholeColumns(rows, is_in_columns);
  return facts;
}

static int64_t powerFor(int64_t parts) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(parts))); }

constexpr int64_t kFewestColumnThreads = 8;  // whose vectors are a line of memory

static bool areBlocksEnough(const ColumnFacts& facts, const KernelTarget& target, int64_t column_threads) {
  return facts.vectors / column_threads >= target.multiprocessors * 7 / 8;
}

// Makes blocks narrower until there are enough for the GPU.
static int64_t narrowed(const ColumnFacts& facts, const KernelTarget& target, int64_t column_threads) {
  while (column_threads > kFewestColumnThreads && !areBlocksEnough(facts, target, column_threads)) column_threads /= 2;
  return column_threads;
}

// Blocks that have whole columns. A thread keeps as many elements as it has registers for: of more rows fewer
// neighbouring columns, in blocks of more threads. Longer columns are read again, by as many threads as possible.
static void chooseWholeColumns(const KernelRows& all, ColumnFacts facts, const KernelTarget& target,
                               CudaScheduleParameters& parameters) {
  struct Shape {
    int64_t vector;  // at most, of what is kept
    int64_t across;
    int64_t threads;
  };
  constexpr std::array<Shape, 3> kShapes = {{{4, 32, 256}, {2, 32, 512}, {2, 64, 512}}};
  constexpr int64_t kFewestThreads = 128;
  const int64_t parts = powerFor(ceilDivide(facts.most_rows, kShortColumn));
  const auto isKeptBy = [&](const Shape& shape) {
    parameters.across = std::min(shape.across, parts);
    parameters.batches = ceilDivide(facts.most_rows, parameters.across);
    // What is not reduced may have more rows.
    return parameters.batches * shape.vector <= kMostKept && areColumnsWithin(all, parameters);
  };
  const auto* shape = std::ranges::find_if(kShapes, isKeptBy);
  const bool is_kept = shape != kShapes.end();
  if (!is_kept) {
    const Shape& first = kShapes.front();
    shape = facts.most_rows * first.vector <= kMostKept * first.across ? &first : &kShapes.back();
    parameters.across = std::min(shape->across, parts);
    parameters.batches = 0;
  }
  // What is kept, and what is known of a column, take registers, and blocks that wait for their threads have to be
  // many.
  for (; is_kept && parameters.across > 1 && parameters.vector > shape->vector; parameters.vector /= 2)
    facts.vectors *= 2;
  const int64_t warp = std::min(kWarp, shape->threads / parameters.across);
  const int64_t most = std::max({kFewestThreads / parameters.across, warp, kFewestColumnThreads});
  parameters.column_threads = narrowed(facts, target, std::min(powerFor(facts.vectors), most));
}

// How many threads go along columns, and how many blocks share a column: so that there are enough for the GPU and each
// still has much to do.
static void chooseColumns(const KernelRows& rows, const ColumnFacts& facts, const KernelTarget& target,
                          CudaScheduleParameters& parameters) {
  if (facts.vectors == 0) return;
  if (!facts.may_split) return chooseWholeColumns(rows, facts, target, parameters);
  // As many threads as there are vectors.
  parameters.column_threads = powerFor(std::min(facts.vectors, kWarp));
  if (facts.most_rows <= kShortColumn) {
    parameters.across = 1;
    parameters.column_threads = areBlocksEnough(facts, target, kMostColumnThreads) ? kMostColumnThreads : kWarp;
    return;
  }
  // Few rows are better not shared: blocks that take narrow columns do not wait for one another.
  constexpr int64_t kFewRows = 2048;
  const bool are_few = facts.rows <= kFewRows;
  if (are_few) parameters.column_threads = narrowed(facts, target, parameters.column_threads);
  const int64_t threads = parameters.column_threads;
  parameters.across = std::min(kColumnBlockThreads / threads, powerFor(ceilDivide(facts.most_rows, kColumnUnroll)));
  if (are_few && areBlocksEnough(facts, target, threads)) return;
  const int64_t blocks = (facts.vectors + threads - 1) / threads;
  constexpr int64_t kBlocksPerMultiprocessor = 2;
  const int64_t rows_at_once = parameters.across * kColumnUnroll;
  const int64_t wanted = (kBlocksPerMultiprocessor * target.multiprocessors + blocks - 1) / blocks;
  const int64_t most = std::max<int64_t>(1, std::min(wanted, facts.rows / rows_at_once));
  parameters.column_blocks = most;
  // Parts that come out even have no guards in their loops, which loads would wait for.
  for (int64_t parts = most; 2 * parts > most; --parts) {
    if (facts.rows % (parts * rows_at_once) != 0) continue;
    parameters.column_blocks = parts;
    return;
  }
}

// Blocks of 128 threads, which take a part of a row or several rows side by side.
static CudaScheduleParameters spreadRows(CudaScheduleParameters parameters, int64_t vectors) {
  constexpr int64_t kThreads = 128;
  parameters.spreads_rows = true;
  parameters.batches = 1;
  parameters.threads = std::min(kThreads, roundUp(vectors, kWarp));
  parameters.rows_per_block = kThreads / parameters.threads;
  return parameters;
}

// Registers hold a row and, for each of its elements, the sums of the columns. Short rows go side by side.
static CudaScheduleParameters rowsWithParts(CudaScheduleParameters parameters, int64_t vectors,
                                            const KernelTarget& target) {
  constexpr int64_t kThreads = 256;
  const auto threadsWith = [&](int64_t batches) { return roundUp((vectors + batches - 1) / batches, kWarp); };
  parameters.batches = 2;
  for (const int64_t batches : {2, 3, 4, 5, 6, 7, 8}) {
    if (vectors % (batches * kWarp) != 0 || threadsWith(batches) > target.threads_per_block) continue;
    parameters.batches = batches;
    break;
  }
  while (threadsWith(parameters.batches) > target.threads_per_block) ++parameters.batches;
  parameters.threads = threadsWith(parameters.batches);
  parameters.rows_per_block = std::max<int64_t>(1, kThreads / parameters.threads);
  return parameters;
}

// How many blocks share a row: so that there are enough for the GPU, and each has several turns or all of them one.
static int64_t rowPartsOf(const RowFacts& facts, const KernelTarget& target, const CudaScheduleParameters& parameters) {
  if (!facts.may_split || facts.rows <= 0) return 1;
  constexpr int64_t kBlocksPerMultiprocessor = 2;
  constexpr int64_t kFewTurns = 4;  // take no longer than another block's reading of what was combined
  const int64_t turn = parameters.threads * parameters.vector * parameters.unroll;
  const int64_t turns = facts.rest / turn;
  const int64_t most = std::min(kBlocksPerMultiprocessor * target.multiprocessors / facts.rows, turns);
  if (turns < kFewTurns || most < 2) return 1;
  // Of lengths that differ from run to run few kernels are made.
  if (!facts.is_constant) return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(most)));
  for (int64_t parts = most; 2 * parts > most; --parts) {
    if (facts.rest % (parts * turn) == 0) return parts;
  }
  return most;
}

// The widest elements of what is read at every place of a row, in bytes.
static int64_t bytesRead(const KernelRows& rows) {
  const Strides strides = globalStrides(rows.fusion());
  int64_t bytes = 1;
  for (const TensorView* tensor : rows.stored()) {
    if (!rows.hasRows(*tensor) || !isReduced(*tensor)) continue;
    const AxisGroups groups(rows.fusion(), *tensor, strides);
    for (const AxisGroups::Access& access : groups.accesses()) {
      bool is_everywhere = access.tensor != tensor;
      for (size_t i = 0; i < groups.extents().size(); ++i) {
        const bool moves = access.strides[i] == nullptr || !access.strides[i]->isConstantInt(0);
        is_everywhere &= moves || groups.extents()[i]->isConstantInt(1);
      }
      if (is_everywhere) bytes = std::max(bytes, sizeOf(access.tensor->dtype()));
    }
  }
  return bytes;
}

// A thread has whole rows in registers, so many that it reads 16 bytes at a time, unless multiprocessors would be idle.
static void chooseTinyRows(const KernelRows& rows, const RowFacts& facts, const KernelTarget& target,
                           CudaScheduleParameters& parameters) {
  parameters.threads = 1;
  parameters.rows_per_block = 128;
  parameters.vector = 1;
  if (!hasTinyRows(rows, facts)) return;
  parameters.vector = vectorOfTinyRow(facts, facts.vector);
  parameters.batches = facts.rest / parameters.vector;
  int64_t& together = parameters.rows_together;
  together = std::min(kMostTogether, ceilDivide(kAccessBytes, facts.rest * bytesRead(rows)));
  while (together > 1 && facts.rows < target.multiprocessors * parameters.rows_per_block * together) together /= 2;
}

static CudaScheduleParameters chooseParametersOf(const KernelRows& rows, const KernelTarget& target,
                                                 const ScalarBindings& sizes) {
  const RowFacts facts = rowFactsOf(rows, sizes);
  CudaScheduleParameters parameters;
  parameters.vector = std::max<int64_t>(1, std::min(facts.vector, kAccessBytes));
  const bool is_in_columns = isInColumns(rows, globalStrides(rows.fusion()));
  chooseColumns(rows, columnFactsOf(rows, is_in_columns, sizes, parameters.vector), target, parameters);
  if (!facts.has_rows) {
    parameters.vector = kAccessBytes;
    return parameters;
  }
  if (is_in_columns) return parameters;
  if (facts.rest <= kThreadPerRow) {
    chooseTinyRows(rows, facts, target, parameters);
    return parameters;
  }
  parameters.vector = facts.vector;
  const int64_t vectors = (facts.rest + facts.vector - 1) / facts.vector;
  if (!facts.is_whole) return spreadRows(parameters, vectors);
  if (!rows.columnParts().empty()) {
    parameters = rowsWithParts(parameters, vectors, target);
    stageRowsWithParts(rows, facts, target, parameters);
    return parameters;
  }
  constexpr int64_t kBatches = 4;
  const bool is_warp_per_row = vectors <= kWarp * kBatches;
  if (is_warp_per_row) {
    // Of short rows a warp has several: threads that have nothing of a row do not keep others from reading, but there
    // are too few under way.
    constexpr int64_t kThreads = 128;
    parameters.threads = std::min(kWarp, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(vectors))));
    parameters.batches = (vectors + parameters.threads - 1) / parameters.threads;
    parameters.rows_per_block = kThreads / parameters.threads;
  } else {
    parameters.threads = std::min(target.threads_per_block, roundUp((vectors + kBatches - 1) / kBatches, kWarp));
    // Batches that come out even, if there are any. Where rows leave multiprocessors idle, as many threads as possible:
    // they wait for memory once.
    const bool are_few = facts.rows <= target.multiprocessors;
    const std::array<int64_t, 8> usual = {4, 3, 5, 6, 2, 7, 8, 1};
    const std::array<int64_t, 8> of_few = {1, 2, 3, 4, 5, 6, 7, 8};
    for (const int64_t batches : are_few ? of_few : usual) {
      if (vectors % (batches * kWarp) != 0 || vectors / batches > target.threads_per_block) continue;
      parameters.threads = vectors / batches;
      break;
    }
    parameters.batches = (vectors + parameters.threads - 1) / parameters.threads;
  }
  // Chunks are made of vectors of 16 bytes.
  const std::vector<RowMaximum> maxima = is_warp_per_row ? std::vector<RowMaximum>() : findRowMaxima(rows);
  const bool may_chunk = !maxima.empty() && facts.vector * sizeOf(maxima[0].values->dtype()) >= kAccessBytes;
  const bool may_keep = facts.is_followed && canKeep(facts, parameters);
  if (may_keep && !(may_chunk && areChunksBetter(facts.is_written, parameters))) {
    if (facts.is_written) stageKeptRow(rows, facts, target, parameters);
    return parameters;
  }
  parameters.batches = 0;
  parameters.unroll = is_warp_per_row ? 1 : kBatches;
  // Where rows are read again, few blocks at a time: a cache that has their rows is all the better.
  const bool is_read_again = facts.is_followed && facts.is_written;
  constexpr int64_t kManyThreads = 512;
  const int64_t most_threads = is_read_again ? target.threads_per_block : kManyThreads;
  if (!is_warp_per_row) {
    parameters.threads = std::min(most_threads, roundUp((vectors + kBatches - 1) / kBatches, kWarp));
    if (parameters.threads > kManyThreads) parameters.unroll = kBatches / 2;
  }
  if (is_read_again && !is_warp_per_row && stageRow(rows, facts, target, may_chunk, parameters)) return parameters;
  parameters.row_parts = rowPartsOf(facts, target, parameters);
  if (may_chunk) {
    chooseChunks(maxima[0], facts.is_written, parameters);
    parameters.chunk = legalChunk(rows, parameters);
  }
  return parameters;
}

CudaScheduleParameters chooseCudaParameters(const KernelRows& rows, const KernelTarget& target,
                                            const ScalarBindings& sizes) {
  const CudaScheduleParameters chosen = chooseParametersOf(rows, target, sizes);
  if (target.by_hand.empty()) return chosen;
  CudaScheduleParameters parameters = legalParameters(rows, withValues(chosen, target.by_hand), sizes, target);
  if (!target.has_clusters) parameters.cluster = 1;
  return parameters;
}

}  // namespace tokamak
