#include "heuristics/cpu_schedule.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/ceil_divide.h"
#include "base/require.h"
#include "heuristics/access_contiguity.h"
#include "heuristics/outer_reductions.h"
#include "heuristics/persistent_buffers.h"
#include "heuristics/reduction_structure.h"
#include "heuristics/transpose_template.h"
#include "ir/ops/math/reduction_op.h"
#include "schedule/cache.h"
#include "schedule/memory.h"
#include "schedule/rfactor.h"
#include "schedule/transforms.h"

namespace tokamak {

namespace {

using Numbers = AxisNumbers;

// Which row axis of an outer reduction is contiguous in memory. Nothing for an inner reduction.
std::optional<size_t> contiguousRow(const ReductionStructure& structure, const TensorView& reduction,
                                    const Strides& strides) {
  const auto unit = AccessContiguity(structure.fusion(), reduction, strides).unitAxis();
  if (!unit || reduction.logical()[*unit]->isReduction()) return std::nullopt;
  const Numbers loops = loopsOf(reduction, structure.rowsOf(reduction));
  const auto found = std::ranges::find(loops, static_cast<int64_t>(*unit));
  return found == loops.end() ? std::nullopt : std::optional(static_cast<size_t>(found - loops.begin()));
}

// Whether the reductions of a kernel are inner or outer ones.
struct ReductionDirections {
  bool has_inner = false;
  bool has_outer = false;
  std::optional<size_t> column;  // the contiguous row axis of the outer ones, if all have the same
};

ReductionDirections reductionDirectionsOf(const ReductionStructure& structure, const Strides& strides) {
  ReductionDirections result;
  std::optional<size_t> count;
  bool is_same = true;
  for (const TensorView* tensor : structure.stored()) {
    if (!isReduced(*tensor) || structure.isPartialOuterReduction(*tensor)) continue;
    const auto column = contiguousRow(structure, *tensor, strides);
    (column ? result.has_outer : result.has_inner) = true;
    if (!column) continue;
    is_same = is_same && (!count || (*count == structure.rowsOf(*tensor).size() && *result.column == *column));
    count = structure.rowsOf(*tensor).size();
    result.column = column;
  }
  if (!is_same) result.column.reset();
  return result;
}

// Whether the reduction combines an expanded axis: the same element several times.
bool reducesRepeated(const TensorView& reduction) {
  const auto* op = reduction.definition()->as<ReductionOp>();
  const Axes operand = shapeOf(*op->in);
  return std::ranges::any_of(
      op->axes, [&](int64_t axis) { return operand[static_cast<size_t>(axis)]->expandedExtent() != nullptr; });
}

// Whether a reduction may be split over blocks. What reads it is small, and the last block computes that.
bool maySplitReductions(const ReductionStructure& structure) {
  return maySplitOverGrid(structure) && std::ranges::none_of(structure.stored(), [](const TensorView* tensor) {
           return isReduced(*tensor) && reducesRepeated(*tensor);
         });
}

// Whether all reductions are outer ones with the same contiguous row axis, so that blocks divide the columns.
bool hasOnlyOuterReductions(const ReductionStructure& structure, const ReductionDirections& directions) {
  return !directions.has_inner && directions.column && !structure.isSingleBlock() &&
         structure.partialOuterReductions().empty();
}

// How many row axes in front of the contiguous one merge with it, in every tensor of the kernel.
size_t rowsMergedWithColumns(const ReductionStructure& structure, size_t column, const Strides& strides) {
  size_t most = column;
  for (const TensorView* tensor : structure.stored()) {
    const Numbers& numbers = structure.rowsOf(*tensor);
    if (numbers.empty()) continue;
    if (column + 1 != numbers.size()) return 0;
    std::vector<AccessContiguity> contiguities = {AccessContiguity(structure.fusion(), *tensor, strides)};
    for (const TensorView* other : tensorsOfOneShape(structure, *tensor))
      contiguities.emplace_back(structure.fusion(), *other, strides);
    const Numbers loops = loopsOf(*tensor, numbers);
    const auto isMerged = [&](size_t i) {
      return loops[i] + 1 == loops[i + 1] && std::ranges::all_of(contiguities, [&](const AccessContiguity& each) {
               return each.mayMerge(static_cast<size_t>(loops[i]));
             });
    };
    size_t count = 0;
    while (count < most && isMerged(column - count - 1)) ++count;
    most = count;
  }
  return most;
}

class CpuScheduler {
 public:
  CpuScheduler(const ReductionStructure& structure, CpuScheduleParameters parameters)
      : fusion_(structure.fusion()), structure_(structure), parameters_(parameters), strides_(globalStrides(fusion_)) {}

  void run() {
    const ReductionDirections directions = reductionDirectionsOf(structure_, strides_);
    const bool is_outer_reductions = hasOnlyOuterReductions(structure_, directions);
    if (is_outer_reductions) merged_rows_ = rowsMergedWithColumns(structure_, *directions.column, strides_);
    if (maySplitReductions(structure_)) grid_split_ = gridSplit(is_outer_reductions ? directions.column : std::nullopt);
    if (!structure_.isSingleBlock()) makePersistent(is_outer_reductions ? directions.column : std::nullopt);
    for (TensorView* tensor : structure_.stored()) {
      if (!structure_.hasRows(*tensor) && !isReduced(*tensor))
        schedulePointwise(*tensor);
      else if (is_outer_reductions && !structure_.rowsOf(*tensor).empty())
        scheduleOuterReduction(*tensor, *directions.column, structure_.rowsOf(*tensor));
      else
        scheduleRowOf(*tensor);
    }
    // A reduction that is followed is computed in its row's loops. A tensor that is not stored is inlined into its
    // reader.
    for (TensorView* tensor : fusion_.allTensors()) {
      if (fusion_.isInput(tensor) || fusion_.isOutput(tensor)) continue;
      const bool is_stored = isReduced(*tensor) && !structure_.isRecomputed(*tensor);
      const bool is_row = is_stored && structure_.isFollowed(*tensor) && !structure_.rowsOf(*tensor).empty();
      if (const auto partial = inline_positions_.find(tensor); partial != inline_positions_.end())
        tensor->mutableDomain().inline_position = partial->second;
      else if (is_row || !is_stored)
        tensor->mutableDomain().inline_position = is_row ? rowLoops() : tensor->axisCount();
    }
  }

 private:
  // The number of blocks that share one reduction, the same for all reductions of the kernel; null: one. It depends on
  // sizes only, not on the machine, so that results are the same everywhere.
  Scalar* gridSplit(std::optional<size_t> column) const {
    Scalar* parts = fusion_.constant(1);
    for (const TensorView* tensor : structure_.stored()) {
      if (!isReduced(*tensor)) continue;
      Scalar* reduced = fusion_.constant(1);
      Scalar* blocks = fusion_.constant(1);
      for (const IterDomain* axis : tensor->logical()) {
        if (axis->isReduction()) reduced = fusion_.mul(reduced, axis->extent());
      }
      const AxisNumbers& rows = structure_.rowsOf(*tensor);
      Scalar* width = fusion_.constant(parameters_.block_columns);
      Scalar* columns = fusion_.constant(1);
      for (size_t i = 0; i < rows.size(); ++i) {
        Scalar* extent = shapeOf(*tensor)[static_cast<size_t>(rows[i])]->visibleExtent();
        const bool is_outer = column == i;
        if (column && i < *column && i + merged_rows_ >= *column) {
          columns = fusion_.mul(columns, extent);
          continue;
        }
        if (is_outer) extent = fusion_.mul(columns, extent);
        if (is_outer) reduced = fusion_.mul(reduced, fusion_.scalar(ScalarOp::Min, extent, width));
        blocks = fusion_.mul(blocks, is_outer ? fusion_.ceilDiv(extent, width) : extent);
      }
      const auto atLeastOne = [&](Scalar* scalar) {
        return fusion_.scalar(ScalarOp::Max, scalar, fusion_.constant(1));
      };
      Scalar* wanted = fusion_.ceilDiv(fusion_.constant(parameters_.max_grid_split), atLeastOne(blocks));
      Scalar* filled = atLeastOne(fusion_.floorDiv(reduced, fusion_.constant(parameters_.split_elements)));
      parts = fusion_.scalar(ScalarOp::Max, parts, fusion_.scalar(ScalarOp::Min, wanted, filled));
    }
    return parts->isConstantInt(1) ? nullptr : parts;
  }

  // The number of loops that all tensors of a row share: that over blocks, and with partial outer reductions that over
  // the rows of a block.
  int64_t rowLoops() const { return structure_.partialOuterReductions().empty() ? 1 : 2; }

  // Merges the `count` loops over rows, distributes them over blocks, and splits off the rows of one block if needed.
  void distributeRows(TensorView& tensor, int64_t count) {
    mergeRange(tensor, 0, count);
    if (rowLoops() > 1 && !structure_.isPartialOuterReduction(tensor)) {
      split(&tensor, 0, structure_.partialOuterReductions().begin()->second.count);
      Numbers order = axisRange(0, tensor.axisCount());
      std::swap(order[0], order[1]);
      reorder(&tensor, order);
    }
    if (!structure_.isSingleBlock()) parallelize(&tensor, 0, ParallelType::BIDx);
  }

  // Reorders the loops over rows to the front (row axis `last` innermost of them), and merges those of the others that
  // may be merged. Returns the number of loops over rows.
  int64_t rowsFirst(TensorView& tensor, const Numbers& row_axes, std::optional<size_t> last) {
    std::vector<AccessContiguity> contiguities = {AccessContiguity(fusion_, tensor, strides_)};
    for (const TensorView* other : tensorsOfOneShape(structure_, tensor))
      contiguities.emplace_back(fusion_, *other, strides_);
    Numbers rows = loopsOf(tensor, row_axes);
    if (last)
      std::rotate(rows.begin() + static_cast<std::ptrdiff_t>(*last),
                  rows.begin() + static_cast<std::ptrdiff_t>(*last) + 1, rows.end());
    Numbers order = rows;
    Numbers inner_domain;
    for (const int64_t i : axisRange(0, tensor.axisCount())) {
      if (std::ranges::find(rows, i) == rows.end()) inner_domain.push_back(i);
    }
    const auto mayMerge = [&](int64_t outer, int64_t inner) {
      return std::ranges::all_of(contiguities, [&](const AccessContiguity& each) {
        return each.mayMerge(static_cast<size_t>(outer), static_cast<size_t>(inner));
      });
    };
    if (std::ranges::all_of(inner_domain, [&](int64_t i) { return tensor.axis(i)->isReduction(); }))
      inner_domain = inMemoryOrder(inner_domain, contiguities.front().unitAxis(), mayMerge);
    order.insert(order.end(), inner_domain.begin(), inner_domain.end());
    if (order != axisRange(0, tensor.axisCount())) reorder(&tensor, order);
    const auto first = static_cast<int64_t>(rows.size());
    for (size_t i = inner_domain.size(); i-- > 1;) {
      const bool may_merge = mayMerge(inner_domain[i - 1], inner_domain[i]);
      const int64_t loop = first + static_cast<int64_t>(i) - 1;
      if (may_merge && tensor.axis(loop)->isReduction() == tensor.axis(loop + 1)->isReduction()) merge(&tensor, loop);
    }
    return first;
  }

  // Orders loops whose order is free: those that merge come one after the other, the unit-stride one last.
  template <class MayMerge>
  static Numbers inMemoryOrder(const Numbers& loops, std::optional<size_t> unit, const MayMerge& mayMerge) {
    std::vector<Numbers> chains;
    for (const int64_t loop : loops) chains.push_back({loop});
    const auto join = [&] {
      for (size_t i = 0; i < chains.size(); ++i) {
        for (size_t k = 0; k < chains.size(); ++k) {
          if (i == k || !mayMerge(chains[i].back(), chains[k].front())) continue;
          chains[k].insert(chains[k].begin(), chains[i].begin(), chains[i].end());
          chains.erase(chains.begin() + static_cast<std::ptrdiff_t>(i));
          return true;
        }
      }
      return false;
    };
    while (join()) continue;
    const auto hasUnit = [&](const Numbers& chain) {
      return unit && std::ranges::find(chain, static_cast<int64_t>(*unit)) != chain.end();
    };
    std::ranges::stable_partition(chains, [&](const Numbers& chain) { return !hasUnit(chain); });
    Numbers order;
    for (const Numbers& chain : chains) order.insert(order.end(), chain.begin(), chain.end());
    return order;
  }

  // An output that is a reduction of persistent values, and is read in its row, is computed within the iteration over
  // rows; a fork stores it.
  void scheduleRowOf(TensorView& tensor) {
    const Numbers& rows = structure_.rowsOf(tensor);
    const bool is_needed_in_persistent_grid = rowLoops() > 1 && !inline_positions_.empty() &&
                                              fusion_.isOutput(&tensor) && isReduced(tensor) &&
                                              structure_.isFollowed(tensor) && !rows.empty();
    if (is_needed_in_persistent_grid) {
      TensorView* result = cache_fork(&tensor);
      scheduleRow(*result, rows);
      inlineAt(*result, rowLoops());
    }
    scheduleRow(tensor, rows);
  }

  // One block per row, or per group of rows.
  void scheduleRow(TensorView& tensor, const Numbers& row_axes) {
    const int64_t rows = rowsFirst(tensor, row_axes, std::nullopt);
    if (rows > 0) distributeRows(tensor, rows);
    if (isReduced(tensor) && !structure_.isPartialOuterReduction(tensor)) splitIntoAccumulators(tensor);
  }

  // Keeps expensive values that a row reads several times in persistent buffers. A row has to have a constant length,
  // and all buffers together have to fit in a processor's own cache.
  void makePersistent(std::optional<size_t> column) {
    int64_t room = parameters_.persistent_bytes;
    for (const PersistentBuffer& value : findPersistentBuffers(structure_, {.bytes = parameters_.persistent_bytes})) {
      if (fusion_.isInput(value.tensor)) continue;
      const Axes shape = shapeOf(*value.tensor);
      int64_t bytes = sizeOf(value.tensor->dtype()) * (column ? parameters_.block_columns : 1);
      for (const int64_t axis : value.inner) {
        const auto extent = shape[static_cast<size_t>(axis)]->extent()->constantInt();
        bytes = extent && *extent <= room ? bytes * *extent : room + 1;
        if (bytes > room) break;
      }
      if (bytes > room) continue;
      room -= bytes;
      TensorView* persistent = fusion_.isOutput(value.tensor) ? cache_fork(value.tensor) : value.tensor;
      persistent->setMemoryType(MemoryType::Local);
      if (column) {
        scheduleOuterReduction(*persistent, *column, value.rows);
        inlineAt(*persistent, 1);
        continue;
      }
      Numbers order = value.rows;
      order.insert(order.end(), value.inner.begin(), value.inner.end());
      if (order != axisRange(0, persistent->axisCount())) reorder(persistent, order);
      distributeRows(*persistent, static_cast<int64_t>(value.rows.size()));
      inlineAt(*persistent, rowLoops());
    }
  }

  // A block computes neighbouring columns in one innermost loop.
  void scheduleOuterReduction(TensorView& tensor, size_t column, const Numbers& row_axes) {
    int64_t rows = rowsFirst(tensor, row_axes, column);
    const auto beside = static_cast<int64_t>(merged_rows_);
    mergeRange(tensor, rows - 1 - beside, rows);
    rows -= beside;
    split(&tensor, rows - 1, fusion_.constant(parameters_.block_columns));
    mergeRange(tensor, 0, rows);
    parallelize(&tensor, 0, ParallelType::BIDx);
    Numbers order = axisRange(0, tensor.axisCount());
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    reorder(&tensor, order);
    if (!isReduced(tensor)) return;
    int64_t reduced = tensor.axisCount() - 2;
    const bool has_terms = isSum(tensor) && !isShort(*tensor.axis(reduced), parameters_.block_terms);
    if (has_terms) split(&tensor, reduced, fusion_.constant(parameters_.block_terms));
    if (splitOverGrid(tensor, 1)) ++reduced;
    if (has_terms) inlineAt(*rfactor(&tensor, {reduced + 1}), reduced + 1);
  }

  // Splits the outermost reduction loop that is longer than 1 into [blocks][iterations], and makes the former loop
  // `first`. Returns whether there is one.
  bool splitOverGrid(TensorView& tensor, int64_t first) {
    if (grid_split_ == nullptr) return false;
    int64_t axis = first;
    while (axis < tensor.axisCount() && (!tensor.axis(axis)->isReduction() || isShort(*tensor.axis(axis), 1))) ++axis;
    if (axis == tensor.axisCount()) return false;
    split(&tensor, axis, grid_split_, SplitSide::Outer);
    parallelize(&tensor, axis, ParallelType::BIDy);
    Numbers order = axisRange(0, tensor.axisCount());
    std::rotate(order.begin() + first, order.begin() + axis, order.begin() + axis + 1);
    if (axis != first) reorder(&tensor, order);
    return true;
  }

  static bool isSum(const TensorView& tensor) {
    return tensor.definition()->as<ReductionOp>()->op == ReductionKind::Sum;
  }
  static bool isShort(const IterDomain& axis, int64_t length) {
    const auto extent = axis.extent()->constantInt();
    return !axis.isReduction() || (extent && *extent <= length);
  }
  void inlineAt(const TensorView& partial, int64_t position) { inline_positions_[&partial] = position; }

  // Vector accumulators: partial results along the innermost reduction axis, combined at the end of the row. Sums are
  // blocked, which makes them more exact.
  void splitIntoAccumulators(TensorView& tensor) {
    int64_t last = tensor.axisCount() - 1;
    if (last < 0 || isShort(*tensor.axis(last), parameters_.accumulators)) return;
    const bool is_long =
        isSum(tensor) && !isShort(*tensor.axis(last), parameters_.accumulators * parameters_.block_terms);
    split(&tensor, last, fusion_.constant(parameters_.accumulators));
    if (is_long) split(&tensor, last, fusion_.constant(parameters_.block_terms));
    const bool has_row = tensor.axis(0)->parallelType() == ParallelType::BIDx;
    const int64_t first = has_row ? 1 : 0;
    const bool is_grid_split = splitOverGrid(tensor, first);
    if (is_grid_split) ++last;
    if (is_long) inlineAt(*rfactor(&tensor, {last + 1}), last + 1);
    Numbers others;
    for (const int64_t i : axisRange(0, tensor.axisCount() - 1)) {
      if (tensor.axis(i)->isReduction() && tensor.axis(i)->parallelType() == ParallelType::Serial) others.push_back(i);
    }
    int64_t position = has_row && (structure_.isFollowed(tensor) || rowLoops() > 1) ? rowLoops() : 0;
    if (is_grid_split) position = first + 1;
    inlineAt(*rfactor(&tensor, others), position);
    // Combined a few at a time: one by one, each addition would wait for the one before.
    const int64_t lane = tensor.axisCount() - 1;
    if (parameters_.accumulators <= parameters_.last_accumulators) return;
    split(&tensor, lane, fusion_.constant(parameters_.last_accumulators));
    inlineAt(*rfactor(&tensor, {lane}), position);
  }

  // Transpose template: a square tile is computed in the order of the reads, and transposed when it is stored.
  // An updated input has to be read in the order of the stores; then tiles of the other inputs are transposed.
  bool scheduleTransposed(TensorView& tensor) {
    if (!parameters_.tiles_transposes || structure_.stored().size() != 1 || structure_.hasRows(tensor)) return false;
    const auto transposed = findTranspose(fusion_, tensor, strides_);
    if (!transposed) return false;
    const TileAxes axes = tileAxesOf(*transposed);
    if (!readsUpdatedInputs()) {
      TensorView* tile = cache_before(&tensor);
      scheduleTile(tensor, axes, /*is_transposed=*/false);
      scheduleCachedTile(*tile, axes);
      return true;
    }
    for (const TransposedOutput::Input& input : transposed->inputs)
      scheduleCachedTile(*cache_after(input.tensor), tileAxesOf(input, axes));
    scheduleTile(tensor, axes, /*is_transposed=*/false);
    return true;
  }

  // Axes of a tensor that is computed in tiles.
  struct TileAxes {
    Numbers others;
    int64_t in = 0;
    int64_t out = 0;
    Scalar* side = nullptr;
  };

  TileAxes tileAxesOf(const TransposedOutput& transposed) const {
    const int64_t side = std::max<int64_t>(8, parameters_.tile_bytes / sizeOf(transposed.output->dtype()));
    TileAxes axes{.in = static_cast<int64_t>(transposed.in_axis),
                  .out = static_cast<int64_t>(transposed.out_axis),
                  .side = fusion_.constant(side)};
    for (const int64_t i : axisRange(0, transposed.output->axisCount())) {
      if (i != axes.in && i != axes.out) axes.others.push_back(i);
    }
    return axes;
  }

  // The same axes of an input. Axes that only one of the two has are 1 long.
  static TileAxes tileAxesOf(const TransposedOutput::Input& input, const TileAxes& of_output) {
    TileAxes axes{.side = of_output.side};
    for (const int64_t i : axisRange(0, std::ssize(input.axes))) {
      if (input.axes[static_cast<size_t>(i)] < 0) axes.others.push_back(i);
    }
    const auto axisOf = [&](int64_t axis) { return std::ranges::find(input.axes, axis) - input.axes.begin(); };
    for (const int64_t other : of_output.others) {
      if (axisOf(other) < std::ssize(input.axes)) axes.others.push_back(axisOf(other));
    }
    axes.in = axisOf(of_output.in);
    axes.out = axisOf(of_output.out);
    return axes;
  }

  bool readsUpdatedInputs() const {
    return std::ranges::any_of(fusion_.outputAliases(),
                               [](const auto& alias) { return !asTensor(alias.second.target)->uses().empty(); });
  }

  void scheduleCachedTile(TensorView& tile, const TileAxes& axes) {
    tile.setMemoryType(MemoryType::Local);
    scheduleTile(tile, axes, /*is_transposed=*/true);
    inlineAt(tile, 1);
  }

  // [tiles][in][out], or [tiles][out][in] where it is transposed.
  void scheduleTile(TensorView& tensor, const TileAxes& axes, bool is_transposed) {
    Numbers order = axes.others;
    order.insert(order.end(), {axes.in, axes.out});
    if (order != axisRange(0, tensor.axisCount())) reorder(&tensor, order);
    const int64_t first = tensor.axisCount() - 2;
    split(&tensor, first + 1, axes.side);
    split(&tensor, first, axes.side);
    Numbers tiles_first = axisRange(0, first + 1);
    tiles_first.insert(tiles_first.end(), {first + 2, first + 1, first + 3});
    if (is_transposed)
      std::swap(tiles_first[static_cast<size_t>(first) + 2], tiles_first[static_cast<size_t>(first) + 3]);
    reorder(&tensor, tiles_first);
    mergeRange(tensor, 0, first + 2);
    parallelize(&tensor, 0, ParallelType::BIDx);
  }

  void schedulePointwise(TensorView& tensor) {
    if (scheduleTransposed(tensor)) return;
    const int64_t count = tensor.axisCount();
    if (count == 0) return;
    const Numbers order = loopOrderOf(structure_, tensor);
    size_t innermost = AccessContiguity(fusion_, tensor, strides_).innermostGroup(order);
    for (TensorView* other : tensorsOfOneShape(structure_, tensor))
      innermost = std::max(innermost, AccessContiguity(fusion_, *other, strides_).innermostGroup(order));
    const auto inner = static_cast<int64_t>(innermost);
    if (order != axisRange(0, count)) reorder(&tensor, order);
    mergeRange(tensor, inner, count);
    mergeRange(tensor, 0, inner);
    const int64_t last = tensor.axisCount() - 1;
    split(&tensor, last, fusion_.constant(parameters_.block_elements));
    mergeRange(tensor, 0, last + 1);
    if (!structure_.isSingleBlock()) parallelize(&tensor, 0, ParallelType::BIDx);
  }

  Fusion& fusion_;
  const ReductionStructure& structure_;
  CpuScheduleParameters parameters_;
  Strides strides_;
  size_t merged_rows_ = 0;                                 // row axes that are merged with the contiguous one
  Scalar* grid_split_ = nullptr;                           // blocks that share one reduction
  std::map<const TensorView*, int64_t> inline_positions_;  // of tensors that readers compute
};

}  // namespace

std::string toString(const CpuScheduleParameters& parameters) {
  std::string text = fmt::format(
      "block elements {}, block columns {}, accumulators {}, last accumulators {}, block terms {}, split elements {}, "
      "max grid split {}, persistent bytes {}, tile bytes {}",
      parameters.block_elements, parameters.block_columns, parameters.accumulators, parameters.last_accumulators,
      parameters.block_terms, parameters.split_elements, parameters.max_grid_split, parameters.persistent_bytes,
      parameters.tile_bytes);
  if (!parameters.tiles_transposes) text += ", transposes not tiled";
  return text;
}

// Whether a block's stack has room for the sums of all columns, and there are rows. (Loops without iterations give no
// index of a row.)
static bool mayBePartial(const ReductionStructure& structure) {
  constexpr int64_t kMostColumns = 128 * 1024;
  return std::ranges::all_of(structure.partialOuterReductions(), [](const auto& part) {
    if (std::ranges::any_of(part.second.extents, [](const Scalar* extent) { return extent->isConstantInt(0); }))
      return false;
    int64_t columns = 1;
    for (const Scalar* extent : part.second.columns)
      columns *= std::min(extent->constantInt().value_or(1), kMostColumns + 1);
    return columns <= kMostColumns;
  });
}

void scheduleForCpu(Fusion& fusion, const CpuScheduleParameters& parameters) {
  ReductionStructure structure(fusion);
  auto problem = structure.find(WholeReductions::SingleBlock);
  if (!problem && !mayBePartial(structure))
    problem = structure.find(WholeReductions::SingleBlock, PartialOuterReductions::Separate);
  TK_REQUIRE(!problem, Schedule, "no kernel for the processor: {}", *problem);
  CpuScheduler(structure, parameters).run();
}

std::optional<std::string> whyNotForCpu(const ReductionStructure& structure) {
  const ReductionDirections directions = reductionDirectionsOf(structure, globalStrides(structure.fusion()));
  if (directions.has_inner && directions.has_outer) return "some reductions are inner, others are outer";
  if (!directions.has_outer || !isOutermostAxisReduced(structure)) return std::nullopt;
  for (const TensorView* tensor : structure.stored()) {
    if (structure.isFollowing(*tensor) && !rowLoopsOf(structure, *tensor).inner.empty())
      return fmt::format("{} needs whole outer reductions for each of its elements", nameOf(*tensor));
  }
  return std::nullopt;
}

// The columns of a block: all of them if there are at most `most`, else equal pieces, rounded up to whole vectors.
static int64_t blockColumns(int64_t columns, int64_t most) {
  constexpr int64_t kLanes = 16;
  const int64_t pieces = ceilDivide(std::max<int64_t>(columns, 1), most);
  return ceilDivide(ceilDivide(std::max<int64_t>(columns, 1), pieces), kLanes) * kLanes;
}

CpuScheduleParameters chooseCpuParameters(const ReductionStructure& structure, const KernelTarget& target,
                                          const ScalarBindings& sizes) {
  CpuScheduleParameters parameters;
  const Strides strides = globalStrides(structure.fusion());
  const ReductionDirections directions = reductionDirectionsOf(structure, strides);
  if (!hasOnlyOuterReductions(structure, directions)) return parameters;
  const size_t beside = rowsMergedWithColumns(structure, *directions.column, strides);
  int64_t columns = 0;
  for (const TensorView* tensor : structure.stored()) {
    const Numbers& numbers = structure.rowsOf(*tensor);
    if (beside == 0 || numbers.empty()) continue;
    int64_t product = 1;
    for (size_t i = *directions.column - beside; i <= *directions.column; ++i) {
      const auto extent = evaluate(*shapeOf(*tensor)[static_cast<size_t>(numbers[i])]->visibleExtent(), sizes);
      product *= extent ? std::max<int64_t>(asInt(*extent), 1) : 1;
    }
    columns = std::max(columns, product);
  }
  for (const TensorView* tensor : structure.fusion().outputs()) {
    const Axes shape = shapeOf(*tensor);
    const auto extent = shape.empty() ? std::nullopt : evaluate(*shape.back()->visibleExtent(), sizes);
    if (extent) columns = std::max(columns, asInt(*extent));
  }
  parameters.block_columns = blockColumns(columns, parameters.block_columns);
  // Fewer columns per block where there are too few blocks for all processors and reductions cannot be split.
  constexpr int64_t kFewest = 256;
  while (!maySplitReductions(structure) && parameters.block_columns > kFewest &&
         columns < parameters.block_columns * target.multiprocessors)
    parameters.block_columns = blockColumns(parameters.block_columns, parameters.block_columns / 2);
  return parameters;
}

}  // namespace tokamak
