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
  if (!parameters.tiles_transposes) text += ", transposes not tiled";
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

// Whether the persistent batches of all threads hold a row, in registers.
static bool fitsInRegisters(const ReductionSizes& facts, const CudaScheduleParameters& parameters) {
  return facts.is_constant && parameters.persistent_batches * parameters.vector <= kMostPersistent &&
         parameters.persistent_batches * parameters.vector * parameters.threads * parameters.cluster >= facts.inner;
}

constexpr int64_t kMostTogether = 8;
constexpr int64_t kMostBlockX = 128;
constexpr int64_t kThreadPerRow = 4;  // the most elements of a row that one thread computes

// Whether a thread may have whole rows, in registers. Not with partial outer reductions, which add a loop around the
// rows.
static bool hasTinyRows(const ReductionStructure& structure, const ReductionSizes& facts) {
  const bool is_tiny = facts.is_constant && facts.inner > 0 && facts.inner <= kThreadPerRow;
  return is_tiny && structure.partialOuterReductions().empty() && !structure.isSingleBlock();
}

static int64_t vectorOfTinyRow(const ReductionSizes& facts, int64_t vector) {
  while (facts.inner % vector != 0) vector /= 2;
  return vector;
}

// Whether the persistent batches of a block hold all elements of each outer reduction.
static bool holdsOuterReductions(const ReductionStructure& structure, const CudaScheduleParameters& parameters) {
  return std::ranges::all_of(structure.stored(), [&](const TensorView* tensor) {
    if (!structure.hasRows(*tensor)) return true;
    const auto inner_domain = productOf(*tensor, rowLoopsOf(structure, *tensor).inner, {});
    return inner_domain && *inner_domain <= parameters.persistent_batches * parameters.block_y;
  });
}

static bool fitsOuterPersistent(const ReductionStructure& structure, const CudaScheduleParameters& parameters) {
  constexpr int64_t kMost = 2 * kMostPersistent;  // of narrow types; wider buffers are dropped later
  return parameters.persistent_batches * parameters.vector <= kMost && holdsOuterReductions(structure, parameters);
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
  parameters.threads = std::clamp<int64_t>(parameters.threads, 1, target.threads_per_block);
  parameters.rows_per_block =
      std::clamp<int64_t>(target.threads_per_block / parameters.threads, 1, parameters.rows_per_block);
  if (!facts.has_rows) {
    parameters.cluster = parameters.rows_together = parameters.inner_grid_split = 1;
    parameters.persistent_grid = parameters.stages = 0;
    parameters.persistent_outer = false;
    return parameters;
  }
  parameters.vector = std::min(parameters.vector, facts.max_vector);
  const int64_t outer_persistent_batches =
      needs_whole_outer_reductions && fitsOuterPersistent(structure, parameters) ? parameters.persistent_batches : 0;
  if (!facts.may_split || parameters.threads == 1) parameters.inner_grid_split = 1;
  if (parameters.inner_grid_split > 1) {
    parameters.cluster = parameters.rows_together = 1;
    parameters.persistent_batches = parameters.persistent_grid = parameters.chunk = parameters.stages = 0;
    parameters.splits_row_over_grid = parameters.persistent_outer = false;
    return parameters;
  }
  parameters.splits_row_over_grid =
      parameters.splits_row_over_grid && !facts.needs_whole_rows && parameters.threads > 1;
  const bool may_share = facts.needs_whole_rows && parameters.threads > 1 && target.has_clusters;
  parameters.cluster = may_share ? std::clamp<int64_t>(parameters.cluster, 1, kMostClusterBlocks) : 1;
  if (!canUsePersistentGrid(structure) || parameters.persistent_grid == 1) parameters.persistent_grid = 0;
  const bool has_tiny_rows = parameters.threads == 1 && !is_outer_reduction && hasTinyRows(structure, facts);
  if (has_tiny_rows) {
    parameters.persistent_grid = 0;
    parameters.vector = vectorOfTinyRow(facts, parameters.vector);
    parameters.persistent_batches = facts.inner / parameters.vector;
  } else if (parameters.splits_row_over_grid) {
    parameters.persistent_batches = 1;
  } else if (parameters.threads == 1 || !fitsInRegisters(facts, parameters)) {
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

static int64_t ceilToPowerOfTwo(int64_t parts) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(parts)));
}

constexpr int64_t kFewestBlockX = 8;  // whose vectors are a line of memory

static bool fillGpu(const OuterReductionSizes& facts, const KernelTarget& target, int64_t block_x) {
  return facts.vectors / block_x >= target.multiprocessors * 7 / 8;
}

// Halves block_x until there is a block for each multiprocessor.
static int64_t narrowedBlockX(const OuterReductionSizes& facts, const KernelTarget& target, int64_t block_x) {
  while (block_x > kFewestBlockX && !fillGpu(facts, target, block_x)) block_x /= 2;
  return block_x;
}

// Outer persistent kernels: blocks have whole columns, in registers. The more elements a column has, the narrower are
// vectors and the larger are blocks. Columns that do not fit are read again, by as many threads as possible.
static void chooseOuterPersistent(const ReductionStructure& all, OuterReductionSizes facts, const KernelTarget& target,
                                  CudaScheduleParameters& parameters) {
  struct Shape {
    int64_t vector;  // the widest, of persistent buffers
    int64_t block_y;
    int64_t threads;
  };
  constexpr std::array<Shape, 3> kShapes = {{{4, 32, 256}, {2, 32, 512}, {2, 64, 512}}};
  constexpr int64_t kFewestThreads = 128;
  const int64_t parts = ceilToPowerOfTwo(ceilDivide(facts.most_rows, kShortOuterReduction));
  const auto isPersistentIn = [&](const Shape& shape) {
    parameters.block_y = std::min(shape.block_y, parts);
    parameters.persistent_batches = ceilDivide(facts.most_rows, parameters.block_y);
    // Tensors that are not reduced may have more elements per column.
    return parameters.persistent_batches * shape.vector <= kMostPersistent && holdsOuterReductions(all, parameters);
  };
  const auto* shape = std::ranges::find_if(kShapes, isPersistentIn);
  const bool is_persistent = shape != kShapes.end();
  if (!is_persistent) {
    const Shape& first = kShapes.front();
    shape = facts.most_rows * first.vector <= kMostPersistent * first.block_y ? &first : &kShapes.back();
    parameters.block_y = std::min(shape->block_y, parts);
    parameters.persistent_batches = 0;
  }
  // Persistent buffers and results take registers, and block reductions stall: narrower vectors give more blocks.
  for (; is_persistent && parameters.block_y > 1 && parameters.vector > shape->vector; parameters.vector /= 2)
    facts.vectors *= 2;
  const int64_t warp = std::min(kWarp, shape->threads / parameters.block_y);
  const int64_t most = std::max({kFewestThreads / parameters.block_y, warp, kFewestBlockX});
  parameters.block_x = narrowedBlockX(facts, target, std::min(ceilToPowerOfTwo(facts.vectors), most));
}

// Chooses the block dimensions, and the number of blocks that share a column: enough blocks for the GPU, each with
// several iterations.
static void chooseOuterReduction(const ReductionStructure& structure, const OuterReductionSizes& facts,
                                 const KernelTarget& target, CudaScheduleParameters& parameters) {
  if (facts.vectors == 0) return;
  if (!facts.may_split) return chooseOuterPersistent(structure, facts, target, parameters);
  // As many threads along x as there are vectors of columns.
  parameters.block_x = ceilToPowerOfTwo(std::min(facts.vectors, kWarp));
  if (facts.most_rows <= kShortOuterReduction) {
    parameters.block_y = 1;
    parameters.block_x = fillGpu(facts, target, kMostBlockX) ? kMostBlockX : kWarp;
    return;
  }
  // With few rows narrow blocks are better than a split: they do not wait for one another.
  constexpr int64_t kFewRows = 2048;
  const bool are_few = facts.rows <= kFewRows;
  if (are_few) parameters.block_x = narrowedBlockX(facts, target, parameters.block_x);
  const int64_t threads = parameters.block_x;
  parameters.block_y =
      std::min(kOuterBlockThreads / threads, ceilToPowerOfTwo(ceilDivide(facts.most_rows, kOuterUnroll)));
  if (are_few && fillGpu(facts, target, threads)) return;
  const int64_t blocks = (facts.vectors + threads - 1) / threads;
  constexpr int64_t kBlocksPerMultiprocessor = 2;
  const int64_t rows_at_once = parameters.block_y * kOuterUnroll;
  const int64_t wanted = (kBlocksPerMultiprocessor * target.multiprocessors + blocks - 1) / blocks;
  const int64_t most = std::max<int64_t>(1, std::min(wanted, facts.rows / rows_at_once));
  parameters.outer_grid_split = most;
  // Even parts need no guards, which loads would wait for.
  for (int64_t parts = most; 2 * parts > most; --parts) {
    if (facts.rows % (parts * rows_at_once) != 0) continue;
    parameters.outer_grid_split = parts;
    return;
  }
}

// A row split over the grid: blocks of 128 threads have a part of a row, or several short rows.
static CudaScheduleParameters splitRowsOverGrid(CudaScheduleParameters parameters, int64_t vectors) {
  constexpr int64_t kThreads = 128;
  parameters.splits_row_over_grid = true;
  parameters.persistent_batches = 1;
  parameters.threads = std::min(kThreads, roundUp(vectors, kWarp));
  parameters.rows_per_block = kThreads / parameters.threads;
  return parameters;
}

// Inner-outer persistent: registers hold a row and the partial sums of its columns. A block has several short rows.
static CudaScheduleParameters innerOuterPersistent(CudaScheduleParameters parameters, int64_t vectors,
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

// The number of blocks that share a row: enough for the GPU, each with several iterations.
static int64_t innerGridSplit(const ReductionSizes& facts, const KernelTarget& target,
                              const CudaScheduleParameters& parameters) {
  if (!facts.may_split || facts.rows <= 0) return 1;
  constexpr int64_t kBlocksPerMultiprocessor = 2;
  constexpr int64_t kFewIterations = 4;  // take no longer than the grid reduction
  const int64_t iteration = parameters.threads * parameters.vector * parameters.unroll;
  const int64_t iterations = facts.inner / iteration;
  const int64_t most = std::min(kBlocksPerMultiprocessor * target.multiprocessors / facts.rows, iterations);
  if (iterations < kFewIterations || most < 2) return 1;
  // Sizes that differ from run to run get few different kernels.
  if (!facts.is_constant) return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(most)));
  for (int64_t parts = most; 2 * parts > most; --parts) {
    if (facts.inner % (parts * iteration) == 0) return parts;
  }
  return most;
}

// The widest element type that is read at every index of a row, in bytes.
static int64_t bytesRead(const ReductionStructure& structure) {
  const Strides strides = globalStrides(structure.fusion());
  int64_t bytes = 1;
  for (const TensorView* tensor : structure.stored()) {
    if (!structure.hasRows(*tensor) || !isReduced(*tensor)) continue;
    const AccessContiguity contiguity(structure.fusion(), *tensor, strides);
    for (const AccessContiguity::Access& access : contiguity.accesses()) {
      bool is_everywhere = access.tensor != tensor;
      for (size_t i = 0; i < contiguity.extents().size(); ++i) {
        const bool moves = access.strides[i] == nullptr || !access.strides[i]->isConstantInt(0);
        is_everywhere &= moves || contiguity.extents()[i]->isConstantInt(1);
      }
      if (is_everywhere) bytes = std::max(bytes, sizeOf(access.tensor->dtype()));
    }
  }
  return bytes;
}

// A thread has whole rows in registers: as many as make 16-byte accesses, unless multiprocessors would be idle.
static void chooseTinyRows(const ReductionStructure& structure, const ReductionSizes& facts, const KernelTarget& target,
                           CudaScheduleParameters& parameters) {
  parameters.threads = 1;
  parameters.rows_per_block = 128;
  parameters.vector = 1;
  if (!hasTinyRows(structure, facts)) return;
  parameters.vector = vectorOfTinyRow(facts, facts.max_vector);
  parameters.persistent_batches = facts.inner / parameters.vector;
  int64_t& together = parameters.rows_together;
  together = std::min(kMostTogether, ceilDivide(kAccessBytes, facts.inner * bytesRead(structure)));
  while (together > 1 && facts.rows < target.multiprocessors * parameters.rows_per_block * together) together /= 2;
}

static CudaScheduleParameters chooseParametersOf(const ReductionStructure& structure, const KernelTarget& target,
                                                 const ScalarBindings& sizes) {
  const ReductionSizes facts = reductionSizesOf(structure, sizes);
  CudaScheduleParameters parameters;
  parameters.vector = std::max<int64_t>(1, std::min(facts.max_vector, kAccessBytes));
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
  parameters.vector = facts.max_vector;
  const int64_t vectors = (facts.inner + facts.max_vector - 1) / facts.max_vector;
  if (!facts.needs_whole_rows) return splitRowsOverGrid(parameters, vectors);
  if (!structure.partialOuterReductions().empty()) {
    parameters = innerOuterPersistent(parameters, vectors, target);
    chooseInnerOuterPersistent(structure, facts, target, parameters);
    return parameters;
  }
  constexpr int64_t kPersistentBatches = 4;
  const bool is_warp_per_row = vectors <= kWarp * kPersistentBatches;
  if (is_warp_per_row) {
    // A warp has several short rows, because threads without elements leave too few loads in flight.
    constexpr int64_t kThreads = 128;
    parameters.threads = std::min(kWarp, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(vectors))));
    parameters.persistent_batches = (vectors + parameters.threads - 1) / parameters.threads;
    parameters.rows_per_block = kThreads / parameters.threads;
  } else {
    parameters.threads =
        std::min(target.threads_per_block, roundUp((vectors + kPersistentBatches - 1) / kPersistentBatches, kWarp));
    // Batches that divide the row evenly, if there are any. With fewer rows than multiprocessors, as many threads as
    // possible: they wait for memory once.
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
  // Chunks consist of 16-byte vectors.
  const std::vector<SoftmaxReductions> maxima =
      is_warp_per_row ? std::vector<SoftmaxReductions>() : findSoftmaxReductions(structure);
  const bool may_chunk = !maxima.empty() && facts.max_vector * sizeOf(maxima[0].values->dtype()) >= kAccessBytes;
  const bool may_persist = facts.is_followed && fitsInRegisters(facts, parameters);
  if (may_persist && !(may_chunk && isOnlineSoftmaxBetter(facts.writes_rows, parameters))) {
    if (facts.writes_rows) preferSharedMemoryPersistent(structure, facts, target, parameters);
    return parameters;
  }
  parameters.persistent_batches = 0;
  parameters.unroll = is_warp_per_row ? 1 : kPersistentBatches;
  // Where rows are read again, larger blocks: fewer rows at a time stay in the cache.
  const bool is_read_again = facts.is_followed && facts.writes_rows;
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
  parameters.inner_grid_split = innerGridSplit(facts, target, parameters);
  if (may_chunk) {
    chooseOnlineSoftmax(maxima[0], facts.writes_rows, parameters);
    parameters.chunk = legalOnlineSoftmaxChunk(structure, parameters);
  }
  return parameters;
}

CudaScheduleParameters chooseCudaParameters(const ReductionStructure& structure, const KernelTarget& target,
                                            const ScalarBindings& sizes) {
  const CudaScheduleParameters chosen = chooseParametersOf(structure, target, sizes);
  if (target.parameter_overrides.empty()) return chosen;
  return legalParameters(structure, withOverrides(chosen, target.parameter_overrides), sizes, target);
}

}  // namespace tokamak
