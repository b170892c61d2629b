#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

#include "base/ceil_divide.h"
#include "heuristics/access_contiguity.h"
#include "heuristics/cuda_schedule.h"
#include "heuristics/online_softmax_parameters.h"
#include "heuristics/outer_reductions.h"
#include "heuristics/parameter_overrides.h"
#include "heuristics/reduction_sizes.h"
#include "heuristics/shared_memory_persistent.h"

namespace tokamak {

static int64_t roundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

std::string toString(const CudaScheduleParameters& parameters) {
  std::string text =
      fmt::format("vector {}, threads {}, persistent batches {}, rows {}, unroll {}, outer grid split {}",
                  parameters.vector, parameters.threads, parameters.persistent_batches, parameters.rows_per_block,
                  parameters.unroll, parameters.outer_grid_split);
  if (parameters.block_x != kWarp) text += fmt::format(", block x {}", parameters.block_x);
  if (parameters.block_y != kOuterBlockThreads / kWarp) text += fmt::format(", block y {}", parameters.block_y);
  if (parameters.inner_grid_split > 1) text += fmt::format(", inner grid split {}", parameters.inner_grid_split);
  if (parameters.chunk > 0) text += fmt::format(", chunk {}", parameters.chunk);
  if (parameters.stages > 0) text += fmt::format(", stages {}", parameters.stages);
  if (parameters.persistent_outer) text += ", persistent outer inputs";
  if (parameters.splits_row_over_grid) text += ", row split over the grid";
  if (parameters.cluster > 1) text += fmt::format(", cluster {}", parameters.cluster);
  if (parameters.persistent_grid > 0) text += fmt::format(", persistent grid {}", parameters.persistent_grid);
  if (parameters.rows_together > 1) text += fmt::format(", together {}", parameters.rows_together);
  return text;
}

std::optional<std::string> whyNotForCuda(const ReductionStructure& structure) {
  const Strides strides = globalStrides(structure.fusion());
  const auto isAcross = [&](const TensorView* tensor) {
    return isReduced(*tensor) && !structure.isPartialOuterReduction(*tensor) &&
           !isInnerReduction(structure, *tensor, strides);
  };
  if (!structure.partialOuterReductions().empty()) {
    const auto found = std::ranges::find_if(structure.stored(), isAcross);
    if (found == structure.stored().end()) return std::nullopt;
    return fmt::format("{} is an outer reduction, others are inner", nameOf(**found));
  }
  if (std::ranges::none_of(structure.stored(), isAcross)) return std::nullopt;
  return whyNoOuterReduction(structure, strides);
}

// Whether the persistent batches hold a row, in registers.
static bool canKeep(const ReductionSizes& facts, const CudaScheduleParameters& parameters) {
  return facts.is_constant && parameters.persistent_batches * parameters.vector <= kMostPersistent &&
         parameters.persistent_batches * parameters.vector * parameters.threads * parameters.cluster >= facts.inner;
}

constexpr int64_t kMostTogether = 8;
constexpr int64_t kMostBlockX = 128;
constexpr int64_t kThreadPerRow = 4;  // elements

// Whether a thread may have whole rows, in registers. Partial outer reductions have a loop of their own around the
// rows.
static bool hasTinyRows(const ReductionStructure& structure, const ReductionSizes& facts) {
  const bool is_tiny = facts.is_constant && facts.inner > 0 && facts.inner <= kThreadPerRow;
  return is_tiny && structure.partialOuterReductions().empty() && !structure.isSingleBlock();
}

static int64_t vectorOfTinyRow(const ReductionSizes& facts, int64_t vector) {
  while (facts.inner % vector != 0) vector /= 2;
  return vector;
}

// Whether the threads of a block have all terms of each outer reduction, in so many persistent batches.
static bool areOuterReductionsWithin(const ReductionStructure& structure, const CudaScheduleParameters& parameters) {
  return std::ranges::all_of(structure.stored(), [&](const TensorView* tensor) {
    if (!structure.hasRows(*tensor)) return true;
    const auto inner_domain = productOf(*tensor, rowLoopsOf(structure, *tensor).inner, {});
    return inner_domain && *inner_domain <= parameters.persistent_batches * parameters.block_y;
  });
}

static bool fitsOuterPersistent(const ReductionStructure& structure, const CudaScheduleParameters& parameters) {
  constexpr int64_t kMost = 2 * kMostPersistent;  // of narrow types; what is too wide is not persistent
  return parameters.persistent_batches * parameters.vector <= kMost && areOuterReductionsWithin(structure, parameters);
}

CudaScheduleParameters legalParameters(const ReductionStructure& structure, CudaScheduleParameters parameters,
                                       const ScalarBindings& sizes, const KernelTarget& target) {
  const ReductionSizes facts = reductionSizesOf(structure, sizes);
  const bool is_outer_reduction = isOuterReduction(structure, globalStrides(structure.fusion()));
  const bool needs_whole_outer_reductions = needsWholeOuterReductions(structure, is_outer_reduction);
  if (needs_whole_outer_reductions) parameters.outer_grid_split = 1;
  const auto power = [](int64_t value, int64_t most) {
    return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::clamp<int64_t>(value, 1, most))));
  };
  parameters.block_x = power(parameters.block_x, kMostBlockX);
  parameters.block_y = power(parameters.block_y, kOuterBlockThreads / parameters.block_x);
  if (!facts.has_rows) {
    parameters.cluster = parameters.rows_together = parameters.inner_grid_split = 1;
    parameters.persistent_grid = parameters.stages = 0;
    parameters.persistent_outer = false;
    return parameters;
  }
  parameters.vector = std::min(parameters.vector, facts.vector);
  const int64_t outer_persistent_batches =
      needs_whole_outer_reductions && fitsOuterPersistent(structure, parameters) ? parameters.persistent_batches : 0;
  parameters.rows_per_block =
      std::clamp<int64_t>(target.threads_per_block / parameters.threads, 1, parameters.rows_per_block);
  if (!facts.may_split || parameters.threads == 1) parameters.inner_grid_split = 1;
  if (parameters.inner_grid_split > 1) {
    parameters.cluster = parameters.rows_together = 1;
    parameters.persistent_batches = parameters.persistent_grid = parameters.chunk = parameters.stages = 0;
    parameters.splits_row_over_grid = parameters.persistent_outer = false;
    return parameters;
  }
  parameters.splits_row_over_grid = parameters.splits_row_over_grid && !facts.is_whole && parameters.threads > 1;
  const bool may_share = facts.is_whole && parameters.threads > 1;
  parameters.cluster = may_share ? std::clamp<int64_t>(parameters.cluster, 1, kMostClusterBlocks) : 1;
  if (!canUsePersistentGrid(structure) || parameters.persistent_grid == 1) parameters.persistent_grid = 0;
  const bool has_tiny_rows = parameters.threads == 1 && !is_outer_reduction && hasTinyRows(structure, facts);
  if (has_tiny_rows) {
    parameters.persistent_grid = 0;
    parameters.vector = vectorOfTinyRow(facts, parameters.vector);
    parameters.persistent_batches = facts.inner / parameters.vector;
  } else if (parameters.splits_row_over_grid) {
    parameters.persistent_batches = 1;
  } else if (parameters.threads == 1 || !canKeep(facts, parameters)) {
    parameters.persistent_batches = 0;
  }
  parameters.chunk = legalOnlineSoftmaxChunk(structure, parameters);
  const bool is_row_per_block =
      parameters.persistent_batches > 0 && parameters.rows_per_block == 1 && !parameters.splits_row_over_grid;
  const bool may_join = has_tiny_rows || is_row_per_block;
  parameters.rows_together = may_join ? std::clamp<int64_t>(parameters.rows_together, 1, kMostTogether) : 1;
  legaliseStages(structure, facts, target, parameters);
  if (is_outer_reduction) parameters.persistent_batches = outer_persistent_batches;
  return parameters;
}

// Outer reductions: across contiguous memory; their results are neighbours.
static std::vector<const TensorView*> outerReductions(const ReductionStructure& structure) {
  const Strides strides = globalStrides(structure.fusion());
  std::vector<const TensorView*> reductions;
  for (const TensorView* tensor : structure.stored()) {
    if (!isReduced(*tensor) || structure.isPartialOuterReduction(*tensor) || structure.rowsOf(*tensor).empty())
      continue;
    if (!isInnerReduction(structure, *tensor, strides)) reductions.push_back(tensor);
  }
  return reductions;
}

// What sums over rows are like: the one with the most columns, in vectors, and those with the fewest and the most rows.
struct OuterReductionSizes {
  int64_t vectors = 0;
  int64_t rows = INT64_MAX;
  int64_t most_rows = 0;
  bool may_split = true;    // among blocks
  bool is_constant = true;  // how many rows there are
};

static OuterReductionSizes outerReductionSizesOf(const ReductionStructure& structure, bool is_outer_reduction,
                                                 const ScalarBindings& sizes, int64_t widest) {
  constexpr int64_t kMany = 1 << 20;
  OuterReductionSizes facts;
  for (const TensorView* tensor : outerReductions(structure)) {
    const RowLoops loops = rowLoopsOf(structure, *tensor);
    const auto columns = productOf(*tensor, loops.rows, sizes);
    const auto reduced = productOf(*tensor, loops.inner, sizes);
    int64_t vector = widest;
    while (columns && vector > 1 && *columns % vector != 0) vector /= 2;
    facts.vectors = std::max(facts.vectors, columns ? (*columns + vector - 1) / vector : kWarp);
    facts.rows = std::min(facts.rows, reduced.value_or(0));
    facts.most_rows = std::max(facts.most_rows, reduced.value_or(kMany));
    facts.is_constant = facts.is_constant && productOf(*tensor, loops.inner, {}).has_value();
    facts.may_split = facts.may_split && columns && reduced;
  }
  facts.may_split = facts.may_split && !needsWholeOuterReductions(structure, is_outer_reduction);
  return facts;
}

static int64_t powerFor(int64_t parts) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(parts))); }

constexpr int64_t kFewestBlockX = 8;  // whose vectors are a line of memory

static bool areBlocksEnough(const OuterReductionSizes& facts, const KernelTarget& target, int64_t block_x) {
  return facts.vectors / block_x >= target.multiprocessors * 7 / 8;
}

// Makes blocks narrower until there are enough for the GPU.
static int64_t narrowed(const OuterReductionSizes& facts, const KernelTarget& target, int64_t block_x) {
  while (block_x > kFewestBlockX && !areBlocksEnough(facts, target, block_x)) block_x /= 2;
  return block_x;
}

// Outer persistent kernels: blocks have whole columns. A thread keeps as many elements as it has registers for: of more
// rows fewer neighbouring columns, in blocks of more threads. Longer columns are read again, by as many threads as
// possible.
static void chooseOuterPersistent(const ReductionStructure& all, OuterReductionSizes facts, const KernelTarget& target,
                                  CudaScheduleParameters& parameters) {
  struct Shape {
    int64_t vector;  // at most, of what is persistent
    int64_t block_y;
    int64_t threads;
  };
  constexpr std::array<Shape, 3> kShapes = {{{4, 32, 256}, {2, 32, 512}, {2, 64, 512}}};
  constexpr int64_t kFewestThreads = 128;
  const int64_t parts = powerFor(ceilDivide(facts.most_rows, kShortOuterReduction));
  const auto isPersistentIn = [&](const Shape& shape) {
    parameters.block_y = std::min(shape.block_y, parts);
    parameters.persistent_batches = ceilDivide(facts.most_rows, parameters.block_y);
    // What is not reduced may have more rows.
    return parameters.persistent_batches * shape.vector <= kMostPersistent && areOuterReductionsWithin(all, parameters);
  };
  const auto* shape = std::ranges::find_if(kShapes, isPersistentIn);
  const bool is_persistent = shape != kShapes.end();
  if (!is_persistent) {
    const Shape& first = kShapes.front();
    shape = facts.most_rows * first.vector <= kMostPersistent * first.block_y ? &first : &kShapes.back();
    parameters.block_y = std::min(shape->block_y, parts);
    parameters.persistent_batches = 0;
  }
  // What is persistent, and what is known of a column, take registers, and blocks that wait for their threads have to
  // be many.
  for (; is_persistent && parameters.block_y > 1 && parameters.vector > shape->vector; parameters.vector /= 2)
    facts.vectors *= 2;
  const int64_t warp = std::min(kWarp, shape->threads / parameters.block_y);
  const int64_t most = std::max({kFewestThreads / parameters.block_y, warp, kFewestBlockX});
  parameters.block_x = narrowed(facts, target, std::min(powerFor(facts.vectors), most));
}

// How many threads go along columns, and how many blocks share a column: so that there are enough for the GPU and each
// still has much to do.
static void chooseOuterReduction(const ReductionStructure& structure, const OuterReductionSizes& facts,
                                 const KernelTarget& target, CudaScheduleParameters& parameters) {
  if (facts.vectors == 0) return;
  if (!facts.may_split) return chooseOuterPersistent(structure, facts, target, parameters);
  // As many threads as there are vectors.
  parameters.block_x = powerFor(std::min(facts.vectors, kWarp));
  if (facts.most_rows <= kShortOuterReduction) {
    parameters.block_y = 1;
    parameters.block_x = areBlocksEnough(facts, target, kMostBlockX) ? kMostBlockX : kWarp;
    return;
  }
  // Few rows are better not shared: blocks that take narrow columns do not wait for one another.
  constexpr int64_t kFewRows = 2048;
  const bool are_few = facts.rows <= kFewRows;
  if (are_few) parameters.block_x = narrowed(facts, target, parameters.block_x);
  const int64_t threads = parameters.block_x;
  parameters.block_y = std::min(kOuterBlockThreads / threads, powerFor(ceilDivide(facts.most_rows, kOuterUnroll)));
  if (are_few && areBlocksEnough(facts, target, threads)) return;
  const int64_t blocks = (facts.vectors + threads - 1) / threads;
  constexpr int64_t kBlocksPerMultiprocessor = 2;
  const int64_t rows_at_once = parameters.block_y * kOuterUnroll;
  const int64_t wanted = (kBlocksPerMultiprocessor * target.multiprocessors + blocks - 1) / blocks;
  const int64_t most = std::max<int64_t>(1, std::min(wanted, facts.rows / rows_at_once));
  parameters.outer_grid_split = most;
  // Parts that come out even have no guards in their loops, which loads would wait for.
  for (int64_t parts = most; 2 * parts > most; --parts) {
    if (facts.rows % (parts * rows_at_once) != 0) continue;
    parameters.outer_grid_split = parts;
    return;
  }
}

// Blocks of 128 threads, which take a part of a row or several rows side by side.
static CudaScheduleParameters spreadRows(CudaScheduleParameters parameters, int64_t vectors) {
  constexpr int64_t kThreads = 128;
  parameters.splits_row_over_grid = true;
  parameters.persistent_batches = 1;
  parameters.threads = std::min(kThreads, roundUp(vectors, kWarp));
  parameters.rows_per_block = kThreads / parameters.threads;
  return parameters;
}

// Registers hold a row and, for each of its elements, the sums of the columns. Short rows go side by side.
static CudaScheduleParameters rowsWithParts(CudaScheduleParameters parameters, int64_t vectors,
                                            const KernelTarget& target) {
  constexpr int64_t kThreads = 256;
  const auto threadsWith = [&](int64_t persistent_batches) {
    return roundUp((vectors + persistent_batches - 1) / persistent_batches, kWarp);
  };
  parameters.persistent_batches = 2;
  for (const int64_t persistent_batches : {2, 3, 4, 5, 6, 7, 8}) {
    if (vectors % (persistent_batches * kWarp) != 0 || threadsWith(persistent_batches) > target.threads_per_block)
      continue;
    parameters.persistent_batches = persistent_batches;
    break;
  }
  while (threadsWith(parameters.persistent_batches) > target.threads_per_block) ++parameters.persistent_batches;
  parameters.threads = threadsWith(parameters.persistent_batches);
  parameters.rows_per_block = std::max<int64_t>(1, kThreads / parameters.threads);
  return parameters;
}

// How many blocks share a row: so that there are enough for the GPU, and each has several iterations or all of them
// one.
static int64_t rowPartsOf(const ReductionSizes& facts, const KernelTarget& target,
                          const CudaScheduleParameters& parameters) {
  if (!facts.may_split || facts.rows <= 0) return 1;
  constexpr int64_t kBlocksPerMultiprocessor = 2;
  constexpr int64_t kFewIterations = 4;  // take no longer than another block's reading of what was combined
  const int64_t iteration = parameters.threads * parameters.vector * parameters.unroll;
  const int64_t iterations = facts.inner / iteration;
  const int64_t most = std::min(kBlocksPerMultiprocessor * target.multiprocessors / facts.rows, iterations);
  if (iterations < kFewIterations || most < 2) return 1;
  // Of lengths that differ from run to run few kernels are made.
  if (!facts.is_constant) return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(most)));
  for (int64_t parts = most; 2 * parts > most; --parts) {
    if (facts.inner % (parts * iteration) == 0) return parts;
  }
  return most;
}

// The widest elements of what is read at every index of a row, in bytes.
static int64_t bytesRead(const ReductionStructure& structure) {
  const Strides strides = globalStrides(structure.fusion());
  int64_t bytes = 1;
  for (const TensorView* tensor : structure.stored()) {
    if (!structure.hasRows(*tensor) || !isReduced(*tensor)) continue;
    const AccessContiguity groups(structure.fusion(), *tensor, strides);
    for (const AccessContiguity::Access& access : groups.accesses()) {
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
static void chooseTinyRows(const ReductionStructure& structure, const ReductionSizes& facts, const KernelTarget& target,
                           CudaScheduleParameters& parameters) {
  parameters.threads = 1;
  parameters.rows_per_block = 128;
  parameters.vector = 1;
  if (!hasTinyRows(structure, facts)) return;
  parameters.vector = vectorOfTinyRow(facts, facts.vector);
  parameters.persistent_batches = facts.inner / parameters.vector;
  int64_t& together = parameters.rows_together;
  together = std::min(kMostTogether, ceilDivide(kAccessBytes, facts.inner * bytesRead(structure)));
  while (together > 1 && facts.rows < target.multiprocessors * parameters.rows_per_block * together) together /= 2;
}

static CudaScheduleParameters chooseParametersOf(const ReductionStructure& structure, const KernelTarget& target,
                                                 const ScalarBindings& sizes) {
  const ReductionSizes facts = reductionSizesOf(structure, sizes);
  CudaScheduleParameters parameters;
  parameters.vector = std::max<int64_t>(1, std::min(facts.vector, kAccessBytes));
  const bool is_outer_reduction = isOuterReduction(structure, globalStrides(structure.fusion()));
  chooseOuterReduction(structure, outerReductionSizesOf(structure, is_outer_reduction, sizes, parameters.vector),
                       target, parameters);
  if (!facts.has_rows) {
    parameters.vector = kAccessBytes;
    return parameters;
  }
  if (is_outer_reduction) return parameters;
  if (facts.inner <= kThreadPerRow) {
    chooseTinyRows(structure, facts, target, parameters);
    return parameters;
  }
  parameters.vector = facts.vector;
  const int64_t vectors = (facts.inner + facts.vector - 1) / facts.vector;
  if (!facts.is_whole) return spreadRows(parameters, vectors);
  if (!structure.partialOuterReductions().empty()) {
    parameters = rowsWithParts(parameters, vectors, target);
    chooseInnerOuterPersistent(structure, facts, target, parameters);
    return parameters;
  }
  constexpr int64_t kPersistentBatches = 4;
  const bool is_warp_per_row = vectors <= kWarp * kPersistentBatches;
  if (is_warp_per_row) {
    // Of short rows a warp has several: threads that have nothing of a row do not keep others from reading, but there
    // are too few under way.
    constexpr int64_t kThreads = 128;
    parameters.threads = std::min(kWarp, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(vectors))));
    parameters.persistent_batches = (vectors + parameters.threads - 1) / parameters.threads;
    parameters.rows_per_block = kThreads / parameters.threads;
  } else {
    parameters.threads =
        std::min(target.threads_per_block, roundUp((vectors + kPersistentBatches - 1) / kPersistentBatches, kWarp));
    // Batches that come out even, if there are any. Where rows leave multiprocessors idle, as many threads as possible:
    // they wait for memory once.
    const bool are_few = facts.rows <= target.multiprocessors;
    const std::array<int64_t, 8> usual = {4, 3, 5, 6, 2, 7, 8, 1};
    const std::array<int64_t, 8> of_few = {1, 2, 3, 4, 5, 6, 7, 8};
    for (const int64_t persistent_batches : are_few ? of_few : usual) {
      if (vectors % (persistent_batches * kWarp) != 0 || vectors / persistent_batches > target.threads_per_block)
        continue;
      parameters.threads = vectors / persistent_batches;
      break;
    }
    parameters.persistent_batches = (vectors + parameters.threads - 1) / parameters.threads;
  }
  // Chunks are made of vectors of 16 bytes.
  const std::vector<SoftmaxReductions> maxima =
      is_warp_per_row ? std::vector<SoftmaxReductions>() : findSoftmaxReductions(structure);
  const bool may_chunk = !maxima.empty() && facts.vector * sizeOf(maxima[0].values->dtype()) >= kAccessBytes;
  const bool may_keep = facts.is_followed && canKeep(facts, parameters);
  if (may_keep && !(may_chunk && isOnlineSoftmaxBetter(facts.is_written, parameters))) {
    if (facts.is_written) preferSharedMemoryPersistent(structure, facts, target, parameters);
    return parameters;
  }
  parameters.persistent_batches = 0;
  parameters.unroll = is_warp_per_row ? 1 : kPersistentBatches;
  // Where rows are read again, few blocks at a time: a cache that has their rows is all the better.
  const bool is_read_again = facts.is_followed && facts.is_written;
  constexpr int64_t kManyThreads = 512;
  const int64_t most_threads = is_read_again ? target.threads_per_block : kManyThreads;
  if (!is_warp_per_row) {
    parameters.threads =
        std::min(most_threads, roundUp((vectors + kPersistentBatches - 1) / kPersistentBatches, kWarp));
    if (parameters.threads > kManyThreads) parameters.unroll = kPersistentBatches / 2;
  }
  if (is_read_again && !is_warp_per_row &&
      chooseSharedMemoryPersistent(structure, facts, target, may_chunk, parameters))
    return parameters;
  parameters.inner_grid_split = rowPartsOf(facts, target, parameters);
  if (may_chunk) {
    chooseOnlineSoftmax(maxima[0], facts.is_written, parameters);
    parameters.chunk = legalOnlineSoftmaxChunk(structure, parameters);
  }
  return parameters;
}

CudaScheduleParameters chooseCudaParameters(const ReductionStructure& structure, const KernelTarget& target,
                                            const ScalarBindings& sizes) {
  const CudaScheduleParameters chosen = chooseParametersOf(structure, target, sizes);
  if (target.parameter_overrides.empty()) return chosen;
  CudaScheduleParameters parameters =
      legalParameters(structure, withOverrides(chosen, target.parameter_overrides), sizes, target);
  if (!target.has_clusters) parameters.cluster = 1;
  return parameters;
}

}  // namespace tokamak
