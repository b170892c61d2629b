#include "heuristics/cuda_schedule.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "heuristics/online_softmax.h"
#include "heuristics/outer_reductions.h"
#include "heuristics/persistent_buffers.h"
#include "heuristics/transpose_template.h"
#include "ir/extent_assumptions.h"
#include "schedule/cache.h"
#include "schedule/memory.h"
#include "schedule/transforms.h"

namespace tokamak {

namespace {

class CudaScheduler {
 public:
  CudaScheduler(const ReductionStructure& structure, const CudaScheduleParameters& parameters)
      : fusion_(structure.fusion()), structure_(structure), parameters_(parameters), strides_(globalStrides(fusion_)) {}

  void run() {
    const bool all_outer_reductions = isOuterReduction(structure_, strides_);
    std::set<const TensorView*> outer;
    for (TensorView* tensor : structure_.stored()) {
      const bool is_alone = !structure_.isFollowed(*tensor) && !structure_.isFollowing(*tensor);
      const bool is_outer = all_outer_reductions
                                ? !structure_.rowsOf(*tensor).empty()
                                : isReduced(*tensor) && is_alone && !structure_.rowsOf(*tensor).empty() &&
                                      !structure_.isPartialOuterReduction(*tensor) &&
                                      !isInnerReduction(structure_, *tensor, strides_);
      if (is_outer) outer.insert(tensor);
    }
    has_outer_reductions_ = !outer.empty();
    // Results that readers of whole columns need take registers.
    if (needsWholeOuterReductions(structure_, all_outer_reductions)) outer_unroll_ = kOuterUnroll / 2;
    if (has_outer_reductions_) parameters_.cluster = parameters_.rows_together = 1;
    if (has_outer_reductions_) parameters_.persistent_grid = parameters_.stages = 0;
    parameters_.persistent_outer = parameters_.persistent_outer && !has_outer_reductions_;
    has_tiny_rows_ = parameters_.threads == 1 && parameters_.persistent_batches > 0 && !has_outer_reductions_;
    // Inner reductions beside outer ones use the threads of the latter's block.
    if (has_outer_reductions_ && parameters_.threads == 1) parameters_.rows_per_block = parameters_.block_x;
    if (has_outer_reductions_ && parameters_.threads > 1) {
      parameters_.threads = parameters_.block_x;
      parameters_.rows_per_block = 1;
    }
    if (has_outer_reductions_ && !all_outer_reductions) parameters_.persistent_batches = 0;
    std::set<const TensorView*> caches;
    if (outer.empty() || all_outer_reductions) caches = cachePersistentBuffers(all_outer_reductions);
    if (all_outer_reductions) useExpTerms(structure_, caches);
    std::vector<ChunkTensor> chunks;
    if (parameters_.chunk > 0 && outer.empty()) chunks = makeRowsOnlineSoftmax();
    const auto isChunked = [&](const TensorView* tensor) {
      return std::ranges::find(chunks, tensor, &ChunkTensor::tensor) != chunks.end();
    };
    // A transpose needs all threads of the block.
    may_tile_ =
        parameters_.tiles_transposes && structure_.stored().size() == 1 && !structure_.hasRows(*structure_.stored()[0]);
    for (TensorView* tensor : structure_.stored()) {
      if (isChunked(tensor)) continue;
      if (outer.contains(tensor))
        scheduleOuterReduction(*tensor, rowLoopsOf(structure_, *tensor));
      else if (!structure_.hasRows(*tensor))
        schedulePointwise(*tensor);
      else if (TensorView* computed = scheduleRowOf(*tensor); computed != tensor)
        caches.insert(computed);
    }
    std::map<TensorView*, int64_t> positions;
    for (ChunkTensor& chunk : chunks) {
      if (chunk.part == ChunkTensor::Part::Row && needsFork(*chunk.tensor)) chunk.tensor = forkResult(*chunk.tensor);
      positions[chunk.tensor] = scheduleChunk(chunk);
    }
    // A reduction that is followed is computed in its row's loops. A tensor that is not stored is inlined into its
    // reader.
    for (TensorView* tensor : fusion_.allTensors()) {
      if (fusion_.isInput(tensor) || fusion_.isOutput(tensor)) continue;
      const bool is_stored = isReduced(*tensor) && !structure_.isRecomputed(*tensor);
      const bool is_in_row = caches.contains(tensor) ||
                             (is_stored && structure_.isFollowed(*tensor) && !structure_.rowsOf(*tensor).empty());
      if (std::ranges::find(tiles_, tensor) != tiles_.end())
        tensor->mutableDomain().inline_position = 1;
      else if (persistent_outer_.contains(tensor))
        tensor->mutableDomain().inline_position = 0;
      else if (is_in_row || !is_stored)
        tensor->mutableDomain().inline_position = is_in_row ? row_loop_count_ : tensor->axisCount();
    }
    for (const auto& [tensor, position] : positions) tensor->mutableDomain().inline_position = position;
  }

 private:
  // Schedules the persistent buffers like their readers. Returns the caches.
  std::set<const TensorView*> cachePersistentBuffers(bool are_outer_reductions) {
    std::set<const TensorView*> caches;
    const bool has_stages = parameters_.stages > 0;
    if (parameters_.persistent_batches == 0 && !has_stages) return caches;
    for (const PersistentBuffer& value : findPersistentBuffers(
             structure_, {.bytes = parameters_.persistent_batches > 0 ? persistentBytes() : 0,
                          .scope = parameters_.cluster > 1 ? PersistentScope::Cluster : PersistentScope::Block,
                          .has_room_for_inputs = has_stages,
                          .has_room_for_outer_inputs = parameters_.persistent_outer})) {
      const bool is_input = fusion_.isInput(value.tensor);
      if (is_input && value.rows.empty()) {
        makeOuterInputPersistent(*value.tensor, value.inner);
        continue;
      }
      const bool is_once_per_row = value.inner.empty();
      if (is_once_per_row && (parameters_.stages == 1 || parameters_.rows_per_block > 1)) continue;
      TensorView* cache = value.tensor;
      if (is_input)
        cache = cache_after(cache);
      else if (fusion_.isOutput(cache))
        cache = cache_fork(cache);
      // An input with one element per row is in a register of each thread, loaded one iteration ahead.
      if (is_input && is_once_per_row) {
        circular_buffer(cache, 2, 1);
      } else if (is_input && has_stages) {
        set_memory_type(cache, MemoryType::Shared);
        if (parameters_.stages > 1) circular_buffer(cache, parameters_.stages, parameters_.stages - 1);
      }
      caches.insert(cache);
      const RowLoops loops = loopsOfPersistent(*cache, value);
      if (are_outer_reductions) {
        scheduleOuterReduction(*cache, loops);
        continue;
      }
      scheduleRow(*cache, loops, /*is_persistent=*/true);
      // An own loop makes it a buffer.
      if (is_once_per_row && cache->axisCount() == row_loop_count_) split(cache, -1, fusion_.constant(1));
    }
    return caches;
  }

  // The loops of a persistent buffer; axes of extent 1 do not count as inner.
  static RowLoops loopsOfPersistent(const TensorView& cache, const PersistentBuffer& value) {
    RowLoops loops{.rows = value.rows, .inner = value.inner};
    std::erase_if(loops.inner, [&](int64_t axis) { return cache.axis(axis)->extent()->isConstantInt(1); });
    for (const int64_t i : axisRange(0, cache.axisCount())) {
      if (std::ranges::count(loops.rows, i) + std::ranges::count(loops.inner, i) == 0) loops.unit_axes.push_back(i);
    }
    return loops;
  }

  // Loaded into shared memory before the first iteration; each thread loads what it reads itself.
  void makeOuterInputPersistent(TensorView& input, const AxisNumbers& outer) {
    TensorView* cache = cache_after(&input);
    set_memory_type(cache, MemoryType::Shared);
    scheduleRow(*cache, {.inner = outer}, /*is_persistent=*/true);
    persistent_outer_.insert(cache);
  }

  // The registers for persistent buffers, in bytes per element of a thread.
  int64_t persistentBytes() const {
    const int64_t threads = parameters_.threads * parameters_.rows_per_block;
    const int64_t of_row =
        parameters_.splits_row_over_grid ? parameters_.vector : parameters_.persistent_batches * parameters_.vector;
    const int64_t elements = of_row * parameters_.rows_together;
    if (structure_.partialOuterReductions().empty()) return (threads > 512 ? 128 : 256) / elements;
    // Partial outer sums are in registers, too. Of short rows several blocks run on a multiprocessor.
    constexpr int64_t kRegisters = 65536;
    constexpr int64_t kOthers = 24;
    constexpr int64_t kAtOnce = 768;
    int64_t room = 4 * (kRegisters / std::max(threads, threads <= kAtOnce / 2 ? kAtOnce : threads) / 8 * 8 - kOthers);
    for (const auto& [sum, part] : structure_.partialOuterReductions()) room -= sizeOf(sum->dtype()) * of_row;
    return std::max<int64_t>(room, 0) / elements;
  }

  // Reorders to [rows][unit axes][inner], rows and inner domain merged into at most one loop each. Returns the number
  // of the inner loop.
  int64_t mergeRowsAndInner(TensorView& tensor, const RowLoops& loops) {
    const int64_t first_inner = mergeRows(tensor, loops);
    mergeRange(tensor, first_inner, tensor.axisCount());
    return first_inner;
  }

  // Reorders to [rows][unit axes][iterations][inner]..., and merges the rows. Returns the number of the first inner
  // loop.
  int64_t mergeRows(TensorView& tensor, const RowLoops& loops) {
    AxisNumbers order = loops.rows;
    order.insert(order.end(), loops.unit_axes.begin(), loops.unit_axes.end());
    order.insert(order.end(), loops.iterations.begin(), loops.iterations.end());
    const auto first_inner = static_cast<int64_t>(order.size());
    order.insert(order.end(), loops.inner.begin(), loops.inner.end());
    if (order != axisRange(0, tensor.axisCount())) reorder(&tensor, order);
    const auto rows = static_cast<int64_t>(loops.rows.size());
    mergeRange(tensor, 0, rows);
    return first_inner - std::max<int64_t>(rows - 1, 0);
  }

  // Distributes rows over blocks, and the inner domain over the threads of a block, in vectors.
  void scheduleRow(TensorView& tensor, const RowLoops& loops, bool is_persistent = false) {
    int64_t inner = mergeRowsAndInner(tensor, loops);
    if (!loops.rows.empty()) inner += distributeRows(tensor, loops);
    if (has_tiny_rows_) return scheduleTinyRow(tensor, loops, inner);
    const bool has_inner = !loops.inner.empty() && parameters_.threads > 1;
    if (has_inner) splitInner(tensor, inner, is_persistent);
    if (loops.rows.empty() || parameters_.rows_together == 1 || !has_inner) return;
    // Rows together become the inner loop: their loads overlap, and one block reduction serves all of them.
    AxisNumbers order = axisRange(0, tensor.axisCount());
    std::rotate(order.begin() + row_loop_count_, order.begin() + row_loop_count_ + 1, order.begin() + inner + 1);
    reorder(&tensor, order);
  }

  // [BIDx] [together] [TIDx] [inner] -> [BIDx] [TIDx] [together] [inner]: a thread has neighbouring rows.
  void scheduleTinyRow(TensorView& tensor, const RowLoops& loops, int64_t inner) {
    if (!loops.rows.empty() && parameters_.rows_together > 1 && parameters_.rows_per_block > 1) {
      AxisNumbers order = axisRange(0, tensor.axisCount());
      std::swap(order[1], order[2]);
      reorder(&tensor, order);
    }
    if (loops.inner.empty()) return;
    const int64_t vector = parameters_.vector;
    const auto inner_domain = tensor.axis(inner)->visibleExtent()->constantInt();
    const bool is_vector = vector > 1 && inner_domain && *inner_domain % vector == 0;
    if (is_vector && *inner_domain > vector) {
      split(&tensor, inner, fusion_.constant(vector));
      parallelize(&tensor, inner++, ParallelType::Unroll);
    }
    // (An extent such as 2 + 2 is known, but is no constant that can be unrolled.)
    if (inner_domain) parallelize(&tensor, inner, is_vector ? ParallelType::Vectorize : ParallelType::Unroll);
  }

  // Splits the loop over rows: [blocks][iterations] for a persistent grid, then [rows per block], then [rows together].
  // Returns the number of additional loops.
  int64_t distributeRows(TensorView& tensor, const RowLoops& loops) {
    int64_t row = 0;
    if (Scalar* blocks = blocksOfPersistentGrid()) {
      if (loops.iterations.empty()) {
        split(&tensor, 0, blocks);
        AxisNumbers order = axisRange(0, tensor.axisCount());
        std::swap(order[0], order[1]);
        reorder(&tensor, order);
      }
      row = 1;
    }
    row_loop_count_ = row + 1;
    if (parameters_.rows_per_block > 1) {
      split(&tensor, row, fusion_.constant(parameters_.rows_per_block));
      parallelize(&tensor, row + 1, parameters_.threads == 1 ? ParallelType::TIDx : ParallelType::TIDy);
      ++row_loop_count_;
    }
    const bool is_together = parameters_.rows_together > 1;
    if (is_together) {
      split(&tensor, row, fusion_.constant(parameters_.rows_together));
      parallelize(&tensor, row + 1, ParallelType::Unroll);
    }
    if (!structure_.isSingleBlock()) parallelize(&tensor, 0, ParallelType::BIDx);
    // A partial outer reduction had its loop of iterations before.
    return row_loop_count_ - 1 + (is_together ? 1 : 0) - static_cast<int64_t>(loops.iterations.size());
  }

  // Whether an output is a reduction that a persistent grid reads in its row. (The results of all iterations would be
  // an array.)
  bool needsFork(const TensorView& tensor) const {
    return blocksOfPersistentGrid() != nullptr && fusion_.isOutput(&tensor) && isReduced(tensor) &&
           structure_.isFollowed(tensor) && !structure_.rowsOf(tensor).empty();
  }

  // Schedules the tensor, or the fork that is computed in its place, which it returns.
  TensorView* scheduleRowOf(TensorView& tensor) {
    const RowLoops loops = rowLoopsOf(structure_, tensor);
    TensorView* computed = needsFork(tensor) ? forkResult(tensor) : &tensor;
    scheduleRow(*computed, loops);
    return computed;
  }

  // A tensor that is computed in the row, and stored to the output in the same iteration.
  TensorView* forkResult(TensorView& output) {
    TensorView* result = cache_fork(&output);
    RowLoops written{.rows = loopsOf(output, structure_.rowsOf(output))};
    for (const int64_t i : axisRange(0, output.axisCount())) {
      if (std::ranges::find(written.rows, i) == written.rows.end()) written.unit_axes.push_back(i);
    }
    scheduleRow(output, written);
    return result;
  }

  // The number of blocks of a persistent grid, or null.
  Scalar* blocksOfPersistentGrid() const {
    if (!structure_.partialOuterReductions().empty()) return structure_.partialOuterReductions().begin()->second.count;
    return parameters_.persistent_grid == 0 ? nullptr : fusion_.constant(parameters_.persistent_grid);
  }

  std::vector<ChunkTensor> makeRowsOnlineSoftmax() {
    std::vector<ChunkTensor> all;
    for (const SoftmaxReductions& row : findSoftmaxReductions(structure_)) {
      const auto chunks = makeOnlineSoftmax(
          structure_, row, {parameters_.chunk, parameters_.threads * parameters_.cluster, parameters_.vector});
      all.insert(all.end(), chunks.begin(), chunks.end());
    }
    return all;
  }

  // Chunks are a loop; their elements and results are in registers. Returns the inline position.
  int64_t scheduleChunk(const ChunkTensor& chunk) {
    using Part = ChunkTensor::Part;
    TensorView& tensor = *chunk.tensor;
    const bool has_elements = chunk.part == Part::Elements || chunk.part == Part::Sum;
    RowLoops loops{.rows = chunk.rows, .inner = axisRange(chunk.axis, chunk.axis + (has_elements ? 4 : 2))};
    for (const int64_t i : axisRange(0, tensor.axisCount())) {
      const bool is_known = std::ranges::count(loops.rows, i) + std::ranges::count(loops.inner, i) > 0;
      if (!is_known) loops.unit_axes.push_back(i);
    }
    int64_t first = mergeRows(tensor, loops);
    if (!loops.rows.empty()) first += distributeRows(tensor, loops);
    const auto mark = [&](int64_t axis, ParallelType type) {
      if (!tensor.axis(axis)->extent()->isConstantInt(1)) parallelize(&tensor, axis, type);
    };
    mark(first, ParallelType::Unroll);
    if (has_elements) mark(first + 1, ParallelType::Unroll);
    if (has_elements) mark(first + 3, ParallelType::Vectorize);
    int64_t threads_axis = first + (has_elements ? 2 : 1);
    if (parameters_.cluster > 1) {
      split(&tensor, threads_axis, fusion_.constant(parameters_.threads));
      parallelize(&tensor, threads_axis++, ParallelType::CIDx);
    }
    parallelize(&tensor, threads_axis, ParallelType::TIDx);
    const bool is_result = chunk.part == Part::Row && (fusion_.isOutput(&tensor) || loops.rows.empty());
    const int64_t shared = loops.rows.empty() ? 0 : row_loop_count_;
    return is_result ? 0 : chunk.part == Part::Elements ? first + 1 : shared;
  }

  // [inner] -> [persistent batches] [CIDx] [TIDx] [vector], or [BIDy] [iterations] [unroll] [TIDx] [vector].
  void splitInner(TensorView& tensor, int64_t axis, bool is_persistent) {
    int64_t threads_axis = axis + 1;
    split(&tensor, axis, fusion_.constant(parameters_.vector));
    split(&tensor, axis, fusion_.constant(parameters_.threads));
    if (parameters_.cluster > 1) {
      split(&tensor, axis, fusion_.constant(parameters_.cluster));
      parallelize(&tensor, axis + 1, ParallelType::CIDx);
      ++threads_axis;
    }
    if (parameters_.persistent_batches > 0 || is_persistent) {
      parallelizePersistentBatches(tensor, axis);
    } else {
      split(&tensor, axis, fusion_.constant(parameters_.unroll));
      if (parameters_.unroll > 1) parallelize(&tensor, axis + 1, ParallelType::Unroll);
      ++threads_axis;
      if (parameters_.inner_grid_split > 1) {
        split(&tensor, axis, fusion_.constant(parameters_.inner_grid_split), SplitSide::Outer);
        parallelize(&tensor, axis, ParallelType::BIDy);
        ++threads_axis;
      }
    }
    parallelize(&tensor, threads_axis, ParallelType::TIDx);
    if (parameters_.vector > 1) parallelize(&tensor, threads_axis + 1, ParallelType::Vectorize);
  }

  void parallelizePersistentBatches(TensorView& tensor, int64_t axis) {
    if (parameters_.splits_row_over_grid)
      parallelize(&tensor, axis, ParallelType::BIDy);
    else if (tensor.axis(axis)->visibleExtent()->isConstant())
      parallelize(&tensor, axis, ParallelType::Unroll);
  }

  // Distributes columns over the threads along x, and the reduction over those along y.
  void scheduleOuterReduction(TensorView& tensor, const RowLoops& loops) {
    const int64_t reduced = mergeRowsAndInner(tensor, loops) + 2;
    const int64_t vector = vectorOfOuterReduction(tensor);
    split(&tensor, 0, fusion_.constant(vector));
    split(&tensor, 0, fusion_.constant(parameters_.block_x));
    parallelize(&tensor, 0, ParallelType::BIDx);
    parallelize(&tensor, 1, ParallelType::TIDx);
    row_loop_count_ = 1;
    // [BIDx][TIDx][vector] ... [serial][unroll][TIDy]: the vector becomes the innermost loop.
    if (!loops.inner.empty()) {
      int64_t inner = reduced;
      if (parameters_.outer_grid_split > 1) {
        split(&tensor, inner, fusion_.constant(parameters_.outer_grid_split), SplitSide::Outer);
        parallelize(&tensor, inner++, ParallelType::BIDy);
      }
      if (parameters_.block_y > 1) {
        split(&tensor, inner, fusion_.constant(parameters_.block_y));
        parallelize(&tensor, inner + 1, ParallelType::TIDy);
      }
      const auto iterations = tensor.axis(inner)->visibleExtent()->constantInt();
      const bool is_short = iterations && *iterations <= std::max(kShortOuterReduction, parameters_.persistent_batches);
      if (!is_short) split(&tensor, inner++, fusion_.constant(outer_unroll_));
      parallelize(&tensor, inner, ParallelType::Unroll);
    }
    AxisNumbers order = axisRange(0, tensor.axisCount());
    std::rotate(order.begin() + 2, order.begin() + 3, order.end());
    reorder(&tensor, order);
    if (vector > 1) parallelize(&tensor, tensor.axisCount() - 1, ParallelType::Vectorize);
  }
  int64_t vectorOfOuterReduction(const TensorView& tensor) const {
    IntervalAnalysis analysis;
    assumeExtents(analysis, fusion_);
    int64_t vector = parameters_.vector;
    while (vector > 1 && !analysis.isProvablyDivisible(*tensor.axis(0)->extent(), *fusion_.constant(vector)))
      vector /= 2;
    return vector;
  }

  // In kernels that update inputs, tensors of one shape share their loops, so that an element is stored after all have
  // read it.
  int64_t vectorOfElements(TensorView& tensor, const Numbers& order) const {
    int64_t vector = vectorOf(fusion_, tensor, order, strides_, parameters_.vector);
    for (TensorView* other : tensorsOfOneShape(structure_, tensor))
      vector = std::min(vector, vectorOf(fusion_, *other, order, strides_, parameters_.vector));
    return vector;
  }

  void schedulePointwise(TensorView& tensor) {
    const int64_t count = tensor.axisCount();
    if (count == 0) return;
    if (may_tile_) {
      if (const auto transposed = findTranspose(fusion_, tensor, strides_)) {
        const int64_t vector = std::max<int64_t>(1, kAccessBytes / sizeOf(tensor.dtype()));
        for (TensorView* cache : scheduleTranspose(*transposed, vector)) tiles_.push_back(cache);
        return;
      }
    }
    const Numbers order = loopOrderOf(structure_, tensor);
    const int64_t vector = vectorOfElements(tensor, order);
    if (order != axisRange(0, count)) reorder(&tensor, order);
    mergeRange(tensor, 0, count);
    // The block dimensions that the other tensors have given.
    const int64_t block_y = has_outer_reductions_     ? parameters_.block_y
                            : parameters_.threads > 1 ? parameters_.rows_per_block
                                                      : 1;
    const int64_t block_x = has_outer_reductions_     ? parameters_.block_x
                            : parameters_.threads > 1 ? parameters_.threads
                                                      : 128;
    split(&tensor, 0, fusion_.constant(vector));
    split(&tensor, 0, fusion_.constant(block_x));
    int64_t next = 1;
    if (block_y > 1) {
      split(&tensor, 0, fusion_.constant(block_y));
      parallelize(&tensor, next++, ParallelType::TIDy);
    }
    if (!structure_.isSingleBlock()) parallelize(&tensor, 0, ParallelType::BIDx);
    parallelize(&tensor, next++, ParallelType::TIDx);
    if (vector > 1) parallelize(&tensor, next, ParallelType::Vectorize);
  }

  Fusion& fusion_;
  const ReductionStructure& structure_;
  CudaScheduleParameters parameters_;
  Strides strides_;
  bool has_outer_reductions_ = false;
  bool has_tiny_rows_ = false;  // a thread has whole rows
  int64_t outer_unroll_ = kOuterUnroll;
  bool may_tile_ = false;
  std::vector<TensorView*> tiles_;
  std::set<const TensorView*> persistent_outer_;
  int64_t row_loop_count_ = 1;
};

}  // namespace

void scheduleForCuda(const ReductionStructure& structure, const CudaScheduleParameters& parameters) {
  CudaScheduler(structure, parameters).run();
}

}  // namespace tokamak
