// Inner and outer reductions: how the stored tensors of a kernel are cut, for a GPU above all. An inner reduction runs
// along contiguous memory, an outer reduction across it; its results lie side by side ("columns").
#pragma once

#include <optional>
#include <string>

#include "analysis/addresses.h"
#include "heuristics/reduction_structure.h"

namespace tokamak {

inline constexpr int64_t kWarp = 32;
inline constexpr int64_t kAccessBytes = 16;

// Of a block that makes outer reductions, at most.
inline constexpr int64_t kOuterBlockThreads = 512;
inline constexpr int64_t kOuterUnroll = 4;

/// The product of the extents of these loops; nothing where one is not known.
std::optional<int64_t> productOf(const TensorView& tensor, const AxisNumbers& loops, const ScalarBindings& sizes);

/// Loops of a tensor that has rows: those of the rows, in their order, those that are 1 long, and the others.
struct RowLoops {
  AxisNumbers rows;
  AxisNumbers once;
  AxisNumbers iterations;  ///< of a partial outer reduction, over the rows that it has
  AxisNumbers inner;
};

RowLoops rowLoopsOf(const ReductionStructure& structure, const TensorView& tensor);

/// Whether blocks may have parts of what is reduced: reductions that follow none, and what has one element for each of
/// their results.
bool mayShareReductions(const ReductionStructure& structure);

/// Whether the reduction is an inner one: neighbours in memory belong to one result. Otherwise it is an outer one.
bool isInnerReduction(const ReductionStructure& structure, const TensorView& reduction, const Strides& strides);

/// Terms of an outer reduction that a thread may have all.
inline constexpr int64_t kShortOuterReduction = 8;

/// Whether all reductions are outer ones of a few terms, as is what is computed from them.
bool areOuterReductionsShort(const ReductionStructure& structure, const Strides& strides);

/// Whether outer reductions are all there is: no axis that is not reduced lies outside of those that are. Then there
/// may be few results, and each of so many elements that no cache holds what is under way.
bool hasOnlyOuterReductions(const ReductionStructure& structure);

/// Whether all that has rows is an outer reduction.
bool isOuterReduction(const ReductionStructure& structure, const Strides& strides);

/// Whether something needs whole outer reductions before it begins: blocks cannot have parts of them then.
/// `is_outer_reduction`: isOuterReduction of these rows.
bool needsWholeOuterReductions(const ReductionStructure& structure, bool is_outer_reduction);

/// Why what has rows should not be an outer reduction, or nothing: some of it is reduced along rows, or there are few
/// columns and what is computed from them needs them whole.
std::optional<std::string> whyNoOuterReduction(const ReductionStructure& structure, const Strides& strides);

/// Where the kernel updates inputs: the other stored tensors of the shape of this one; reductions have none.
std::vector<TensorView*> besideUpdates(const ReductionStructure& structure, const TensorView& tensor);

/// How many neighbouring elements a thread can take together along the last of the loops: 16 bytes of the narrowest
/// tensor, and a divisor of what lies side by side in memory.
int64_t vectorOf(Fusion& fusion, const TensorView& tensor, const Strides& strides, int64_t most);

/// Whether the grid may be persistent. An output that is needed elsewhere is computed there again, and counts as
/// needed: its iterations would be a loop of its own. Where rows are several axes, indices do not show that the
/// iterations of two tensors are one loop. (The grid of partial outer reductions is persistent anyway.)
bool canUsePersistentGrid(const ReductionStructure& structure);

}  // namespace tokamak
