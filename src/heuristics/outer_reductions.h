// Inner and outer reductions: which of them a kernel has, and the loops of its stored tensors.
// An inner reduction runs along contiguous memory. An outer reduction runs across it, and its results ("columns") lie
// side by side.
#pragma once

#include <optional>
#include <string>

#include "analysis/addresses.h"
#include "heuristics/reduction_structure.h"

namespace tokamak {

inline constexpr int64_t kWarp = 32;
inline constexpr int64_t kAccessBytes = 16;

// Limits of a block that computes outer reductions.
inline constexpr int64_t kOuterBlockThreads = 512;
inline constexpr int64_t kOuterUnroll = 4;

/// The product of the extents of these loops; nothing where one is not known.
std::optional<int64_t> productOf(const TensorView& tensor, const AxisNumbers& loops, const ScalarBindings& sizes);

/// The loops of a tensor that has rows, by role.
struct RowLoops {
  AxisNumbers rows;
  AxisNumbers unit_axes;   ///< of extent 1, or expanded where the inner domain has other axes, too
  AxisNumbers iterations;  ///< of a partial outer reduction, over the rows of a block
  AxisNumbers inner;       ///< the inner domain
};

RowLoops rowLoopsOf(const ReductionStructure& structure, const TensorView& tensor);

/// Whether each reduction may be split over the grid: no reduction follows another, and what reads one has a single
/// element per result.
bool maySplitOverGrid(const ReductionStructure& structure);

/// Whether the reduction is an inner one: neighbours in memory are reduced to one result. Otherwise it is an outer one.
bool isInnerReduction(const ReductionStructure& structure, const TensorView& reduction, const Strides& strides);

/// An outer reduction is short if it has at most so many terms: a thread may then reduce all of them.
inline constexpr int64_t kShortOuterReduction = 8;

/// Whether all reductions are short outer ones, and all that follow them have as few elements per column.
bool areOuterReductionsShort(const ReductionStructure& structure, const Strides& strides);

/// Whether the outermost axis of some reduction is reduced. There may be few results then, each of more elements than a
/// cache holds.
bool isOutermostAxisReduced(const ReductionStructure& structure);

/// Whether all reductions of the kernel are outer ones, so that it is scheduled by columns.
bool isOuterReduction(const ReductionStructure& structure, const Strides& strides);

/// Whether something reads whole outer reductions, so that they cannot be split over the grid. `is_outer_reduction`: of
/// this kernel, from isOuterReduction.
bool needsWholeOuterReductions(const ReductionStructure& structure, bool is_outer_reduction);

/// Why the kernel should not be scheduled by columns, or nothing: it has an inner reduction, or few columns that
/// something reads whole.
std::optional<std::string> whyNoOuterReduction(const ReductionStructure& structure, const Strides& strides);

/// In a kernel that updates inputs: the other stored tensors of the same shape, without reductions. In-place updates
/// need all of them in one loop.
std::vector<TensorView*> tensorsOfOneShape(const ReductionStructure& structure, const TensorView& tensor);

/// In which order loops go over a tensor that is computed element by element, the outermost first: as its axes lie in
/// memory; as they are, where tensors that share its loops lie in another order.
AxisNumbers loopOrderOf(const ReductionStructure& structure, const TensorView& tensor);

/// The widest vector along the innermost axes of loops in this order: at most `most` elements, and 16 bytes of the
/// narrowest tensor. It divides the extent of the axes that merge into one.
int64_t vectorOf(Fusion& fusion, const TensorView& tensor, const AxisNumbers& order, const Strides& strides,
                 int64_t most);
/// Of loops in the order of the axes.
int64_t vectorOf(Fusion& fusion, const TensorView& tensor, const Strides& strides, int64_t most);

/// Whether the grid may be persistent. No output may be read by others, as its iterations would be a second loop. Rows
/// may have one axis only: with several, two tensors' iterations are not recognised as one loop.
/// (Partial outer reductions have a persistent grid anyway.)
bool canUsePersistentGrid(const ReductionStructure& structure);

}  // namespace tokamak
