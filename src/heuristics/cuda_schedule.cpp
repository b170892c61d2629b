#include "heuristics/cuda_schedule.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "heuristics/chunked_maxima.h"
#include "heuristics/cuda_rows.h"
#include "heuristics/kept_values.h"
#include "heuristics/tiles.h"
#include "ir/extent_assumptions.h"
#include "schedule/cache.h"
#include "schedule/memory.h"
#include "schedule/transforms.h"

namespace tokamak {

namespace {

class CudaScheduler {
 public:
  CudaScheduler(const KernelRows& rows, const CudaScheduleParameters& parameters)
      : fusion_(rows.fusion()), rows_(rows), parameters_(parameters), strides_(globalStrides(fusion_)) {}

  void run() {
    const bool all_columns = isInColumns(rows_, strides_);
    std::set<const TensorView*> columns;
    for (TensorView* tensor : rows_.stored()) {
      const bool is_alone = !rows_.isFollowed(*tensor) && !rows_.isFollowing(*tensor);
      const bool is_column = all_columns ? !rows_.rowsOf(*tensor).empty()
                                         : isReduced(*tensor) && is_alone && !rows_.rowsOf(*tensor).empty() &&
                                               !rows_.isColumnPart(*tensor) && !isAlongRows(rows_, *tensor, strides_);
      if (is_column) columns.insert(tensor);
    }
    has_columns_ = !columns.empty();
    // What is known of whole columns takes registers.
    if (needsWholeColumns(rows_, all_columns)) column_unroll_ = kColumnUnroll / 2;
    if (has_columns_) parameters_.cluster = parameters_.rows_together = 1;
    if (has_columns_) parameters_.row_blocks = parameters_.stages = 0;
    parameters_.keeps_columns = parameters_.keeps_columns && !has_columns_;
    has_tiny_rows_ = parameters_.threads == 1 && parameters_.batches > 0 && !has_columns_;
    // Reductions of rows beside columns take no more threads than these have.
    if (has_columns_ && parameters_.threads == 1) parameters_.rows_per_block = parameters_.column_threads;
    if (has_columns_ && parameters_.threads > 1) {
      parameters_.threads = parameters_.column_threads;
      parameters_.rows_per_block = 1;
    }
    if (has_columns_ && !all_columns) parameters_.batches = 0;
    std::set<const TensorView*> caches;
    if (columns.empty() || all_columns) caches = cacheKeptValues(all_columns);
    if (all_columns) shortenTerms(rows_, caches);
    std::vector<ChunkTensor> chunks;
    if (parameters_.chunk > 0 && columns.empty()) chunks = chunkRows();
    const auto isChunked = [&](const TensorView* tensor) {
      return std::ranges::find(chunks, tensor, &ChunkTensor::tensor) != chunks.end();
    };
    // Tiles need the threads for themselves.
    may_tile_ = rows_.stored().size() == 1 && !rows_.hasRows(*rows_.stored()[0]);
    for (TensorView* tensor : rows_.stored()) {
      if (isChunked(tensor)) continue;
      if (columns.contains(tensor))
        scheduleColumns(*tensor, rowLoopsOf(rows_, *tensor));
      else if (!rows_.hasRows(*tensor))
        schedulePointwise(*tensor);
      else if (TensorView* computed = scheduleRowOf(*tensor); computed != tensor)
        caches.insert(computed);
    }
    std::map<TensorView*, int64_t> positions;
    for (ChunkTensor& chunk : chunks) {
      if (chunk.part == ChunkTensor::Part::Row && isNeededInTurns(*chunk.tensor))
        chunk.tensor = forkResult(*chunk.tensor);
      positions[chunk.tensor] = scheduleChunk(chunk);
    }
    // Reductions that are followed are computed in their row; what is not stored is computed where it is read.
    for (TensorView* tensor : fusion_.allTensors()) {
      if (fusion_.isInput(tensor) || fusion_.isOutput(tensor)) continue;
      const bool is_stored = isReduced(*tensor) && !rows_.isExpression(*tensor);
      const bool is_row =
          caches.contains(tensor) || (is_stored && rows_.isFollowed(*tensor) && !rows_.rowsOf(*tensor).empty());
      if (std::ranges::find(tiles_, tensor) != tiles_.end())
        tensor->mutableDomain().inline_position = 1;
      else if (kept_columns_.contains(tensor))
        tensor->mutableDomain().inline_position = 0;
      else if (is_row || !is_stored)
        tensor->mutableDomain().inline_position = is_row ? row_loop_count_ : tensor->axisCount();
    }
    for (const auto& [tensor, position] : positions) tensor->mutableDomain().inline_position = position;
  }

 private:
  // What is kept of a row, each scheduled as its readers are. Gives the caches.
  std::set<const TensorView*> cacheKeptValues(bool are_columns) {
    std::set<const TensorView*> caches;
    const bool has_stages = parameters_.stages > 0;
    if (parameters_.batches == 0 && !has_stages) return caches;
    for (const KeptValue& value :
         findKeptValues(rows_, {.bytes = parameters_.batches > 0 ? keptBytes() : 0,
                                .by = parameters_.cluster > 1 ? KeptBy::Cluster : KeptBy::Block,
                                .has_inputs_apart = has_stages,
                                .has_columns_apart = parameters_.keeps_columns})) {
      const bool is_input = fusion_.isInput(value.tensor);
      if (is_input && value.rows.empty()) {
        keepColumns(*value.tensor, value.rest);
        continue;
      }
      const bool is_once_per_row = value.rest.empty();
      if (is_once_per_row && (parameters_.stages == 1 || parameters_.rows_per_block > 1)) continue;
      TensorView* cache = value.tensor;
      if (is_input)
        cache = cache_after(cache);
      else if (fusion_.isOutput(cache))
        cache = cache_fork(cache);
      // What belongs to a row as a whole is in a register of each thread, one turn ahead.
      if (is_input && is_once_per_row) {
        circular_buffer(cache, 2, 1);
      } else if (is_input && has_stages) {
        set_memory_type(cache, MemoryType::Shared);
        if (parameters_.stages > 1) circular_buffer(cache, parameters_.stages, parameters_.stages - 1);
      }
      caches.insert(cache);
      const RowLoops loops = loopsOfKept(*cache, value);
      if (are_columns) {
        scheduleColumns(*cache, loops);
        continue;
      }
      scheduleRow(*cache, loops, /*is_kept=*/true);
      // A loop of its own, so that it is stored.
      if (is_once_per_row && cache->axisCount() == row_loop_count_) split(cache, -1, fusion_.constant(1));
    }
    return caches;
  }

  // The rest without what is 1 long.
  static RowLoops loopsOfKept(const TensorView& cache, const KeptValue& value) {
    RowLoops loops{.rows = value.rows, .rest = value.rest};
    std::erase_if(loops.rest, [&](int64_t axis) { return cache.axis(axis)->extent()->isConstantInt(1); });
    for (const int64_t i : axisRange(0, cache.axisCount())) {
      if (std::ranges::count(loops.rows, i) + std::ranges::count(loops.rest, i) == 0) loops.once.push_back(i);
    }
    return loops;
  }

  // In shared memory before the first turn; each thread has what it reads itself.
  void keepColumns(TensorView& input, const AxisNumbers& columns) {
    TensorView* cache = cache_after(&input);
    set_memory_type(cache, MemoryType::Shared);
    scheduleRow(*cache, {.rest = columns}, /*is_kept=*/true);
    kept_columns_.insert(cache);
  }

  // What a thread has room for in registers, in bytes for each of its elements.
  int64_t keptBytes() const {
    const int64_t threads = parameters_.threads * parameters_.rows_per_block;
    const int64_t of_row = parameters_.spreads_rows ? parameters_.vector : parameters_.batches * parameters_.vector;
    const int64_t elements = of_row * parameters_.rows_together;
    if (rows_.columnParts().empty()) return (threads > 512 ? 128 : 256) / elements;
    // Sums of columns are there as well; of short rows several blocks are under way.
    constexpr int64_t kRegisters = 65536;
    constexpr int64_t kOthers = 24;
    constexpr int64_t kAtOnce = 768;
    int64_t room = 4 * (kRegisters / std::max(threads, threads <= kAtOnce / 2 ? kAtOnce : threads) / 8 * 8 - kOthers);
    for (const auto& [sum, part] : rows_.columnParts()) room -= sizeOf(sum->dtype()) * of_row;
    return std::max<int64_t>(room, 0) / elements;
  }

  // One loop for the rows (or none), those of axes that are 1 long, one for the rest (or none). Gives the number of the
  // latter.
  int64_t mergeRowsAndRest(TensorView& tensor, const RowLoops& loops) {
    const int64_t first_rest = mergeRows(tensor, loops);
    mergeRange(tensor, first_rest, tensor.axisCount());
    return first_rest;
  }

  // One loop for the rows (or none), those of axes that are 1 long, the rest. Gives the number of the first of the
  // latter.
  int64_t mergeRows(TensorView& tensor, const RowLoops& loops) {
    AxisNumbers order = loops.rows;
    order.insert(order.end(), loops.once.begin(), loops.once.end());
    order.insert(order.end(), loops.turns.begin(), loops.turns.end());
    const auto first_rest = static_cast<int64_t>(order.size());
    order.insert(order.end(), loops.rest.begin(), loops.rest.end());
    if (order != axisRange(0, tensor.axisCount())) reorder(&tensor, order);
    const auto rows = static_cast<int64_t>(loops.rows.size());
    mergeRange(tensor, 0, rows);
    return first_rest - std::max<int64_t>(rows - 1, 0);
  }

  // Rows over blocks; the rest over the threads of the block, in vectors.
  void scheduleRow(TensorView& tensor, const RowLoops& loops, bool is_kept = false) {
    int64_t inner = mergeRowsAndRest(tensor, loops);
    if (!loops.rows.empty()) inner += spreadRows(tensor, loops);
    if (has_tiny_rows_) return scheduleTinyRow(tensor, loops, inner);
    const bool has_rest = !loops.rest.empty() && parameters_.threads > 1;
    if (has_rest) splitRest(tensor, inner, is_kept);
    if (loops.rows.empty() || parameters_.rows_together == 1 || !has_rest) return;
    // Rows together go inside of the batches, so that vectors of all of them are under way and threads meet once for
    // all.
    AxisNumbers order = axisRange(0, tensor.axisCount());
    std::rotate(order.begin() + row_loop_count_, order.begin() + row_loop_count_ + 1, order.begin() + inner + 1);
    reorder(&tensor, order);
  }

  // [BIDx] [together] [TIDx] [rest] -> [BIDx] [TIDx] [together] [rest]: neighbours of a thread's rows are its
  // neighbours'.
  void scheduleTinyRow(TensorView& tensor, const RowLoops& loops, int64_t inner) {
    if (!loops.rows.empty() && parameters_.rows_together > 1 && parameters_.rows_per_block > 1) {
      AxisNumbers order = axisRange(0, tensor.axisCount());
      std::swap(order[1], order[2]);
      reorder(&tensor, order);
    }
    if (loops.rest.empty()) return;
    const int64_t vector = parameters_.vector;
    const auto rest = tensor.axis(inner)->visibleExtent()->constantInt();
    const bool is_vector = vector > 1 && rest && *rest % vector == 0;
    if (is_vector && *rest > vector) {
      split(&tensor, inner, fusion_.constant(vector));
      parallelize(&tensor, inner++, ParallelType::Unroll);
    }
    // An extent such as 2 + 2 is known, but no number that can be unrolled.
    if (rest) parallelize(&tensor, inner, is_vector ? ParallelType::Vectorize : ParallelType::Unroll);
  }

  // [rows] or, where blocks take rows in turns, [blocks][turns], of which the innermost is shared by the threads
  // across, or has several rows together. Gives how many loops more than one.
  int64_t spreadRows(TensorView& tensor, const RowLoops& loops) {
    int64_t row = 0;
    if (Scalar* blocks = blocksOfTurns()) {
      if (loops.turns.empty()) {
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
    if (!rows_.isSingleBlock()) parallelize(&tensor, 0, ParallelType::BIDx);
    // The turns of a part were among the loops before.
    return row_loop_count_ - 1 + (is_together ? 1 : 0) - static_cast<int64_t>(loops.turns.size());
  }

  // A result of a row that is an output and read in the row, by blocks that take rows in turns.
  bool isNeededInTurns(const TensorView& tensor) const {
    return blocksOfTurns() != nullptr && fusion_.isOutput(&tensor) && isReduced(tensor) && rows_.isFollowed(tensor) &&
           !rows_.rowsOf(tensor).empty();
  }

  // Gives the tensor, or what is computed in its place.
  TensorView* scheduleRowOf(TensorView& tensor) {
    const RowLoops loops = rowLoopsOf(rows_, tensor);
    TensorView* computed = isNeededInTurns(tensor) ? forkResult(tensor) : &tensor;
    scheduleRow(*computed, loops);
    return computed;
  }

  // What is computed in the row, and written to the output in the same turn. (The results of all turns would be an
  // array.)
  TensorView* forkResult(TensorView& output) {
    TensorView* result = cache_fork(&output);
    RowLoops written{.rows = loopsOf(output, rows_.rowsOf(output))};
    for (const int64_t i : axisRange(0, output.axisCount())) {
      if (std::ranges::find(written.rows, i) == written.rows.end()) written.once.push_back(i);
    }
    scheduleRow(output, written);
    return result;
  }

  // So many that take rows in turns, or null.
  Scalar* blocksOfTurns() const {
    if (!rows_.columnParts().empty()) return rows_.columnParts().begin()->second.count;
    return parameters_.row_blocks == 0 ? nullptr : fusion_.constant(parameters_.row_blocks);
  }

  std::vector<ChunkTensor> chunkRows() {
    std::vector<ChunkTensor> all;
    for (const RowMaximum& row : findRowMaxima(rows_)) {
      const auto chunks =
          chunkMaximum(rows_, row, {parameters_.chunk, parameters_.threads * parameters_.cluster, parameters_.vector});
      all.insert(all.end(), chunks.begin(), chunks.end());
    }
    return all;
  }

  // Chunks one after the other, their elements and results in registers. Gives the inline position.
  int64_t scheduleChunk(const ChunkTensor& chunk) {
    using Part = ChunkTensor::Part;
    TensorView& tensor = *chunk.tensor;
    const bool has_elements = chunk.part == Part::Elements || chunk.part == Part::Sum;
    RowLoops loops{.rows = chunk.rows, .rest = axisRange(chunk.axis, chunk.axis + (has_elements ? 4 : 2))};
    for (const int64_t i : axisRange(0, tensor.axisCount())) {
      const bool is_known = std::ranges::count(loops.rows, i) + std::ranges::count(loops.rest, i) > 0;
      if (!is_known) loops.once.push_back(i);
    }
    int64_t first = mergeRows(tensor, loops);
    if (!loops.rows.empty()) first += spreadRows(tensor, loops);
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

  // [rest] -> [batches] [CIDx] [TIDx] [vector] or [BIDy] [turns] [unroll] [TIDx] [vector], with those that are 1 left
  // out of the vector.
  void splitRest(TensorView& tensor, int64_t axis, bool is_kept) {
    int64_t threads_axis = axis + 1;
    split(&tensor, axis, fusion_.constant(parameters_.vector));
    split(&tensor, axis, fusion_.constant(parameters_.threads));
    if (parameters_.cluster > 1) {
      split(&tensor, axis, fusion_.constant(parameters_.cluster));
      parallelize(&tensor, axis + 1, ParallelType::CIDx);
      ++threads_axis;
    }
    if (parameters_.batches > 0 || is_kept) {
      parallelizeBatches(tensor, axis);
    } else {
      split(&tensor, axis, fusion_.constant(parameters_.unroll));
      if (parameters_.unroll > 1) parallelize(&tensor, axis + 1, ParallelType::Unroll);
      ++threads_axis;
      if (parameters_.row_parts > 1) {
        split(&tensor, axis, fusion_.constant(parameters_.row_parts), SplitSide::Outer);
        parallelize(&tensor, axis, ParallelType::BIDy);
        ++threads_axis;
      }
    }
    parallelize(&tensor, threads_axis, ParallelType::TIDx);
    if (parameters_.vector > 1) parallelize(&tensor, threads_axis + 1, ParallelType::Vectorize);
  }

  void parallelizeBatches(TensorView& tensor, int64_t axis) {
    if (parameters_.spreads_rows)
      parallelize(&tensor, axis, ParallelType::BIDy);
    else if (tensor.axis(axis)->visibleExtent()->isConstant())
      parallelize(&tensor, axis, ParallelType::Unroll);
  }

  // Columns over the threads along x, what is reduced over those along y.
  void scheduleColumns(TensorView& tensor, const RowLoops& loops) {
    const int64_t reduced = mergeRowsAndRest(tensor, loops) + 2;
    const int64_t vector = vectorOfColumns(tensor);
    split(&tensor, 0, fusion_.constant(vector));
    split(&tensor, 0, fusion_.constant(parameters_.column_threads));
    parallelize(&tensor, 0, ParallelType::BIDx);
    parallelize(&tensor, 1, ParallelType::TIDx);
    row_loop_count_ = 1;
    // [BIDx][TIDx][vector] ... [serial][unroll][TIDy]: the vector becomes the innermost loop.
    if (!loops.rest.empty()) {
      int64_t inner = reduced;
      if (parameters_.column_blocks > 1) {
        split(&tensor, inner, fusion_.constant(parameters_.column_blocks), SplitSide::Outer);
        parallelize(&tensor, inner++, ParallelType::BIDy);
      }
      if (parameters_.across > 1) {
        split(&tensor, inner, fusion_.constant(parameters_.across));
        parallelize(&tensor, inner + 1, ParallelType::TIDy);
      }
      const auto turns = tensor.axis(inner)->visibleExtent()->constantInt();
      const bool is_short = turns && *turns <= std::max(kShortColumn, parameters_.batches);
      if (!is_short) split(&tensor, inner++, fusion_.constant(column_unroll_));
      parallelize(&tensor, inner, ParallelType::Unroll);
    }
    AxisNumbers order = axisRange(0, tensor.axisCount());
    std::rotate(order.begin() + 2, order.begin() + 3, order.end());
    reorder(&tensor, order);
    if (vector > 1) parallelize(&tensor, tensor.axisCount() - 1, ParallelType::Vectorize);
  }
  int64_t vectorOfColumns(const TensorView& tensor) const {
    IntervalAnalysis analysis;
    assumeExtents(analysis, fusion_);
    int64_t vector = parameters_.vector;
    while (vector > 1 && !analysis.isProvablyDivisible(*tensor.axis(0)->extent(), *fusion_.constant(vector)))
      vector /= 2;
    return vector;
  }

  // In kernels that update their inputs tensors of one shape share their loops: an element is not written before all
  // have read it.
  int64_t vectorOfElements(TensorView& tensor) const {
    int64_t vector = vectorOf(fusion_, tensor, strides_, parameters_.vector);
    for (TensorView* other : besideUpdates(rows_, tensor))
      vector = std::min(vector, vectorOf(fusion_, *other, strides_, parameters_.vector));
    return vector;
  }

  void schedulePointwise(TensorView& tensor) {
    const int64_t count = tensor.axisCount();
    if (count == 0) return;
    if (may_tile_) {
      if (const auto transposed = findTranspose(fusion_, tensor, strides_)) {
        const int64_t vector = std::max<int64_t>(1, kAccessBytes / sizeOf(tensor.dtype()));
        for (TensorView* cache : scheduleTiles(*transposed, vector)) tiles_.push_back(cache);
        return;
      }
    }
    mergeRange(tensor, 0, count);
    const int64_t vector = vectorOfElements(tensor);
    // The threads that the block has anyway.
    const int64_t across = has_columns_ ? parameters_.across : parameters_.threads > 1 ? parameters_.rows_per_block : 1;
    const int64_t along = has_columns_              ? parameters_.column_threads
                          : parameters_.threads > 1 ? parameters_.threads
                                                    : 128;
    split(&tensor, 0, fusion_.constant(vector));
    split(&tensor, 0, fusion_.constant(along));
    int64_t next = 1;
    if (across > 1) {
      split(&tensor, 0, fusion_.constant(across));
      parallelize(&tensor, next++, ParallelType::TIDy);
    }
    if (!rows_.isSingleBlock()) parallelize(&tensor, 0, ParallelType::BIDx);
    parallelize(&tensor, next++, ParallelType::TIDx);
    if (vector > 1) parallelize(&tensor, next, ParallelType::Vectorize);
  }

  Fusion& fusion_;
  const KernelRows& rows_;
  CudaScheduleParameters parameters_;
  Strides strides_;
  bool has_columns_ = false;
  bool has_tiny_rows_ = false;  // a thread has all of a row
  int64_t column_unroll_ = kColumnUnroll;
  bool may_tile_ = false;
  std::vector<TensorView*> tiles_;
  std::set<const TensorView*> kept_columns_;
  int64_t row_loop_count_ = 1;
};

}  // namespace

void scheduleForCuda(const KernelRows& rows, const CudaScheduleParameters& parameters) {
  CudaScheduler(rows, parameters).run();
}

}  // namespace tokamak
