#include "heuristics/cpu_schedule.h"

#include <algorithm>
#include <bit>
#include <map>

#include <fmt/format.h>

#include "base/error.h"
#include "heuristics/axis_groups.h"
#include "heuristics/kept_values.h"
#include "heuristics/kernel_rows.h"
#include "heuristics/tiles.h"
#include "ir/ops/math/reduction_op.h"
#include "schedule/cache.h"
#include "schedule/memory.h"
#include "schedule/rfactor.h"
#include "schedule/transforms.h"

namespace tokamak {

namespace {

using Numbers = AxisNumbers;

// For a reduction across rows: which of its rows lies side by side in memory; nothing where what is reduced does.
std::optional<size_t> columnRow(const KernelRows& rows, const TensorView& reduction, const Strides& strides) {
  const auto unit = AxisGroups(rows.fusion(), reduction, strides).unitAxis();
  if (!unit || reduction.logical()[*unit]->isReduction()) return std::nullopt;
  const Numbers loops = loopsOf(reduction, rows.rowsOf(reduction));
  const auto found = std::ranges::find(loops, static_cast<int64_t>(*unit));
  return found == loops.end() ? std::nullopt : std::optional(static_cast<size_t>(found - loops.begin()));
}

// Whether the reductions of a kernel run along rows of memory, or across them.
struct Directions {
  bool has_along = false;
  bool has_across = false;
  std::optional<size_t> column;  // of those across, if it is the same one for all of as many rows
};

Directions directionsOf(const KernelRows& rows, const Strides& strides) {
  Directions result;
  std::optional<size_t> count;
  bool is_same = true;
  for (const TensorView* tensor : rows.stored()) {
    if (!isReduced(*tensor) || rows.isColumnPart(*tensor)) continue;
    const auto column = columnRow(rows, *tensor, strides);
    (column ? result.has_across : result.has_along) = true;
    if (!column) continue;
    is_same = is_same && (!count || (*count == rows.rowsOf(*tensor).size() && *result.column == *column));
    count = rows.rowsOf(*tensor).size();
    result.column = column;
  }
  if (!is_same) result.column.reset();
  return result;
}

// Whether blocks take columns side by side.
bool isColumns(const KernelRows& rows, const Directions& directions) {
  return !directions.has_along && directions.column && !rows.isSingleBlock() && rows.columnParts().empty();
}

class CpuScheduler {
 public:
  CpuScheduler(const KernelRows& rows, CpuScheduleParameters parameters)
      : fusion_(rows.fusion()), rows_(rows), parameters_(parameters), strides_(globalStrides(fusion_)) {}

  void run() {
    const Directions directions = directionsOf(rows_, strides_);
    const bool is_columns = isColumns(rows_, directions);
    if (!is_columns && !rows_.isSingleBlock()) keepValues();
    for (TensorView* tensor : rows_.stored()) {
      if (!rows_.hasRows(*tensor) && !isReduced(*tensor))
        schedulePointwise(*tensor);
      else if (is_columns && !rows_.rowsOf(*tensor).empty())
        scheduleColumns(*tensor, *directions.column);
      else
        scheduleRow(*tensor);
    }
    // Reductions that are followed are computed in their row; what is not stored is computed where it is read.
    for (TensorView* tensor : fusion_.allTensors()) {
      if (fusion_.isInput(tensor) || fusion_.isOutput(tensor)) continue;
      const bool is_stored = isReduced(*tensor) && !rows_.isExpression(*tensor);
      const bool is_row = is_stored && rows_.isFollowed(*tensor) && !rows_.rowsOf(*tensor).empty();
      if (const auto partial = partials_.find(tensor); partial != partials_.end())
        tensor->mutableDomain().inline_position = partial->second;
      else if (is_row || !is_stored)
        tensor->mutableDomain().inline_position = is_row ? rowLoops() : tensor->axisCount();
    }
  }

 private:
  // Loops that all of a row shares: the block, and in it the turn where a block has several rows and sums their columns.
  int64_t rowLoops() const { return rows_.columnParts().empty() ? 1 : 2; }

  // One loop for `count` loops of rows, or two.
  void spreadRows(TensorView& tensor, int64_t count) {
    mergeRange(tensor, 0, count);
    if (rowLoops() > 1 && !rows_.isColumnPart(tensor)) {
      split(&tensor, 0, rows_.columnParts().begin()->second.count);
      Numbers order = axisRange(0, tensor.axisCount());
      std::swap(order[0], order[1]);
      reorder(&tensor, order);
    }
    if (!rows_.isSingleBlock()) parallelize(&tensor, 0, ParallelType::BIDx);
  }

  // The loops of rows come first (the one numbered `last` at their end), then the others; neighbours among these that one loop can go over become one.
  // Gives how many loops are rows.
  int64_t rowsFirst(TensorView& tensor, std::optional<size_t> last) {
    const AxisGroups groups(fusion_, tensor, strides_);
    Numbers rows = loopsOf(tensor, rows_.rowsOf(tensor));
    if (last)
      std::rotate(rows.begin() + static_cast<std::ptrdiff_t>(*last),
                  rows.begin() + static_cast<std::ptrdiff_t>(*last) + 1, rows.end());
    Numbers order = rows;
    Numbers rest;
    for (const int64_t i : axisRange(0, tensor.axisCount())) {
      if (std::ranges::find(rows, i) == rows.end()) rest.push_back(i);
    }
    order.insert(order.end(), rest.begin(), rest.end());
    if (order != axisRange(0, tensor.axisCount())) reorder(&tensor, order);
    const auto first = static_cast<int64_t>(rows.size());
    for (size_t i = rest.size(); i-- > 1;) {
      const bool may_merge = rest[i - 1] + 1 == rest[i] && groups.mayMerge(static_cast<size_t>(rest[i - 1]));
      const int64_t loop = first + static_cast<int64_t>(i) - 1;
      if (may_merge && tensor.axis(loop)->isReduction() == tensor.axis(loop + 1)->isReduction()) merge(&tensor, loop);
    }
    return first;
  }

  // One block per row, or per part of the rows.
  void scheduleRow(TensorView& tensor) {
    const int64_t rows = rowsFirst(tensor, std::nullopt);
    if (rows > 0) spreadRows(tensor, rows);
    if (isReduced(tensor) && !rows_.isColumnPart(tensor)) accumulateSideBySide(tensor);
  }

  // What takes long to compute and is needed several times in a row is computed once, if a row of it has a known length and is no longer than the cache.
  void keepValues() {
    for (const KeptValue& value : findKeptValues(rows_, {.bytes = parameters_.kept_bytes})) {
      if (fusion_.isInput(value.tensor)) continue;
      const Axes shape = shapeOf(*value.tensor);
      int64_t bytes = sizeOf(value.tensor->dtype());
      for (const int64_t axis : value.rest) {
        const auto extent = shape[static_cast<size_t>(axis)]->extent()->constantInt();
        bytes = extent && *extent <= parameters_.kept_bytes ? bytes * *extent : parameters_.kept_bytes + 1;
        if (bytes > parameters_.kept_bytes) break;
      }
      if (bytes > parameters_.kept_bytes) continue;
      TensorView* kept = fusion_.isOutput(value.tensor) ? cache_fork(value.tensor) : value.tensor;
      kept->setMemoryType(MemoryType::Local);
      Numbers order = value.rows;
      order.insert(order.end(), value.rest.begin(), value.rest.end());
      if (order != axisRange(0, kept->axisCount())) reorder(kept, order);
      spreadRows(*kept, static_cast<int64_t>(value.rows.size()));
      keepPartial(*kept, rowLoops());
    }
  }

  // A block takes some columns and goes through them side by side.
  void scheduleColumns(TensorView& tensor, size_t column) {
    const int64_t rows = rowsFirst(tensor, column);
    split(&tensor, rows - 1, fusion_.constant(parameters_.columns));
    mergeRange(tensor, 0, rows);
    parallelize(&tensor, 0, ParallelType::BIDx);
    Numbers order = axisRange(0, tensor.axisCount());
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    reorder(&tensor, order);
    if (!isReduced(tensor) || !isSum(tensor)) return;
    const int64_t reduced = tensor.axisCount() - 2;
    if (isShort(*tensor.axis(reduced), parameters_.terms)) return;
    split(&tensor, reduced, fusion_.constant(parameters_.terms));
    keepPartial(*rfactor(&tensor, {reduced + 1}), reduced + 1);
  }

  static bool isSum(const TensorView& tensor) {
    return tensor.definition()->as<ReductionOp>()->op == ReductionKind::Sum;
  }
  static bool isShort(const IterDomain& axis, int64_t length) {
    const auto extent = axis.extent()->constantInt();
    return !axis.isReduction() || (extent && *extent <= length);
  }
  void keepPartial(const TensorView& partial, int64_t position) { partials_[&partial] = position; }

  // Several partial results along the innermost reduction axis, combined at the end of the row: the compiler makes vectors of them. Each is summed in
  // two steps, which is more exact.
  void accumulateSideBySide(TensorView& tensor) {
    const int64_t last = tensor.axisCount() - 1;
    if (last < 0 || isShort(*tensor.axis(last), parameters_.lanes)) return;
    const bool is_long = isSum(tensor) && !isShort(*tensor.axis(last), parameters_.lanes * parameters_.terms);
    split(&tensor, last, fusion_.constant(parameters_.lanes));
    if (is_long) split(&tensor, last, fusion_.constant(parameters_.terms));
    if (is_long) keepPartial(*rfactor(&tensor, {last + 1}), last + 1);
    Numbers others;
    for (const int64_t i : axisRange(0, tensor.axisCount() - 1)) {
      if (tensor.axis(i)->isReduction()) others.push_back(i);
    }
    const bool has_row = tensor.axis(0)->parallelType() == ParallelType::BIDx;
    const int64_t position = has_row && (rows_.isFollowed(tensor) || rowLoops() > 1) ? rowLoops() : 0;
    keepPartial(*rfactor(&tensor, others), position);
    // A few at a time: one after the other they would wait for each other.
    const int64_t lane = tensor.axisCount() - 1;
    if (parameters_.lanes <= parameters_.last_lanes) return;
    split(&tensor, lane, fusion_.constant(parameters_.last_lanes));
    keepPartial(*rfactor(&tensor, {lane}), position);
  }

  // Square tiles of the axes along which it is read and written: a tile is computed as it is read, and turned on the way out.
  bool scheduleTransposed(TensorView& tensor) {
    if (rows_.stored().size() != 1 || rows_.hasRows(tensor)) return false;
    const auto transposed = findTranspose(fusion_, tensor, strides_);
    if (!transposed) return false;
    Numbers others;
    for (const int64_t i : axisRange(0, tensor.axisCount())) {
      if (static_cast<size_t>(i) != transposed->out_axis && static_cast<size_t>(i) != transposed->in_axis)
        others.push_back(i);
    }
    TensorView* tile = cache_before(&tensor);
    tile->setMemoryType(MemoryType::Local);
    Scalar* side = fusion_.constant(std::max<int64_t>(8, parameters_.tile_bytes / sizeOf(tensor.dtype())));
    const auto schedule = [&](TensorView& each, bool is_turned) {
      Numbers order = others;
      order.push_back(static_cast<int64_t>(transposed->in_axis));
      order.push_back(static_cast<int64_t>(transposed->out_axis));
      if (order != axisRange(0, each.axisCount())) reorder(&each, order);
      const int64_t first = each.axisCount() - 2;
      split(&each, first + 1, side);
      split(&each, first, side);
      Numbers tiles_first = axisRange(0, first + 1);
      tiles_first.insert(tiles_first.end(), {first + 2, first + 1, first + 3});
      if (is_turned)
        std::swap(tiles_first[static_cast<size_t>(first) + 2], tiles_first[static_cast<size_t>(first) + 3]);
      reorder(&each, tiles_first);
      mergeRange(each, 0, first + 2);
      parallelize(&each, 0, ParallelType::BIDx);
    };
    schedule(tensor, false);
    schedule(*tile, true);
    keepPartial(*tile, 1);
    return true;
  }

  void schedulePointwise(TensorView& tensor) {
    if (scheduleTransposed(tensor)) return;
    const AxisGroups groups(fusion_, tensor, strides_);
    const auto inner = static_cast<int64_t>(groups.innermostGroup());
    const int64_t count = tensor.axisCount();
    if (count == 0) return;
    mergeRange(tensor, inner, count);
    mergeRange(tensor, 0, inner);
    const int64_t last = tensor.axisCount() - 1;
    split(&tensor, last, fusion_.constant(parameters_.chunk));
    mergeRange(tensor, 0, last + 1);
    if (!rows_.isSingleBlock()) parallelize(&tensor, 0, ParallelType::BIDx);
  }

  Fusion& fusion_;
  const KernelRows& rows_;
  CpuScheduleParameters parameters_;
  Strides strides_;
  std::map<const TensorView*, int64_t> partials_;  // and the loops that they share with what reads them
};

}  // namespace

std::string toString(const CpuScheduleParameters& parameters) {
  return fmt::format("chunk {}, columns {}, lanes {}, last lanes {}, terms {}, kept bytes {}, tile bytes {}",
                     parameters.chunk, parameters.columns, parameters.lanes, parameters.last_lanes, parameters.terms,
                     parameters.kept_bytes, parameters.tile_bytes);
}

// A block has a sum of each column on its stack. Indices of loops over no rows say nothing about which row it is.
static bool mayHaveParts(const KernelRows& rows) {
  constexpr int64_t kMostColumns = 128 * 1024;
  return std::ranges::all_of(rows.columnParts(), [](const auto& part) {
    if (std::ranges::any_of(part.second.extents, [](const Scalar* extent) { return extent->isConstantInt(0); }))
      return false;
    int64_t columns = 1;
    for (const Scalar* extent : part.second.columns)
      columns *= std::min(extent->constantInt().value_or(1), kMostColumns + 1);
    return columns <= kMostColumns;
  });
}

void scheduleForCpu(Fusion& fusion, const CpuScheduleParameters& parameters) {
  KernelRows rows(fusion);
  auto problem = rows.find(WholeReductions::SingleBlock);
  if (!problem && !mayHaveParts(rows)) problem = rows.find(WholeReductions::SingleBlock, ColumnParts::Apart);
  TK_REQUIRE(!problem, Schedule, "no kernel for the processor: {}", *problem);
  CpuScheduler(rows, parameters).run();
}

std::optional<std::string> whyNoCpuKernel(const KernelRows& rows) {
  const Directions directions = directionsOf(rows, globalStrides(rows.fusion()));
  if (directions.has_along && directions.has_across)
    return "some reductions run along rows of memory, others across them";
  return std::nullopt;
}

// Whether blocks of fewer columns would take longer than fewer blocks: pieces of rows are read at half the speed of whole ones, by two processors
// side by side at a third, and a few processors have no more than that to gain unless they compute.
static bool waitsForMemory(const KernelRows& rows, const KernelTarget& target) {
  constexpr int64_t kFewProcessors = 4;
  const auto isOfRows = [](const TensorView& tensor) {
    return std::ranges::count_if(shapeOf(tensor), [](const IterDomain* axis) { return !axis->isBroadcast(); }) > 1;
  };
  return target.multiprocessors <= kFewProcessors && std::ranges::none_of(rows.fusion().exprs(), [&](const Expr* expr) {
           return isExpensive(*expr) && isOfRows(*asTensor(expr->outputs()[0]));
         });
}

// The least that a block takes of so many columns.
static int64_t fewestColumns(int64_t columns, const KernelRows& rows, const KernelTarget& target) {
  constexpr int64_t kFewest = 32;
  constexpr int64_t kLongEnough = 1024;
  if (columns <= kFewest || !waitsForMemory(rows, target)) return kFewest;
  if (columns >= kLongEnough) return kLongEnough;
  // A block that is not full does not keep what is the same for all rows.
  return std::has_single_bit(static_cast<uint64_t>(columns)) ? columns : kFewest;
}

CpuScheduleParameters chooseCpuParameters(const KernelRows& rows, const KernelTarget& target,
                                          const ScalarBindings& sizes) {
  CpuScheduleParameters parameters;
  if (!isColumns(rows, directionsOf(rows, globalStrides(rows.fusion())))) return parameters;
  // Narrower columns where there would not be enough blocks for all processors.
  int64_t columns = 0;
  for (const TensorView* tensor : rows.fusion().outputs()) {
    const Axes shape = shapeOf(*tensor);
    const auto extent = shape.empty() ? std::nullopt : evaluate(*shape.back()->visibleExtent(), sizes);
    if (extent) columns = std::max(columns, asInt(*extent));
  }
  const int64_t fewest = fewestColumns(columns, rows, target);
  while (parameters.columns > fewest && columns < parameters.columns * target.multiprocessors) parameters.columns /= 2;
  return parameters;
}

}  // namespace tokamak
