// Inner and outer reductions: how the stored tensors of a kernel are cut into loops, above all for a GPU.
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

/// The loops of a tensor that has rows.
struct RowLoops {
  AxisNumbers rows;
  AxisNumbers once;
  AxisNumbers iterations;  ///< of a partial outer reduction, over the rows that it has
  AxisNumbers inner;
};

RowLoops rowLoopsOf(const ReductionStructure& structure, const TensorView& tensor);

/// Whether blocks may share reductions: no reduction follows another, and what reads one has a single element per
/// result.
bool mayShareReductions(const ReductionStructure& structure);

/// Whether the reduction is an inner one: neighbours in memory belong to one result. Otherwise it is an outer one.
bool isInnerReduction(const ReductionStructure& structure, const TensorView& reduction, const Strides& strides);

/// An outer reduction is short if it has at most so many terms: a thread may then reduce all of them.
inline constexpr int64_t kShortOuterReduction = 8;

/// Whether all reductions are short outer ones, and so is what is computed from them.
bool areOuterReductionsShort(const ReductionStructure& structure, const Strides& strides);

/// Whether some reduction's outermost axis is reduced: no axis that is not reduced lies outside of it. Then there may
/// be few results, each of so many elements that no cache holds what is being read.
bool hasOnlyOuterReductions(const ReductionStructure& structure);

/// Whether everything that has rows is an outer reduction.
bool isOuterReduction(const ReductionStructure& structure, const Strides& strides);

/// Whether something reads whole outer reductions, so that blocks cannot share them. `is_outer_reduction`: what
/// isOuterReduction says of this kernel.
bool needsWholeOuterReductions(const ReductionStructure& structure, bool is_outer_reduction);

/// Why the kernel should not be scheduled as an outer reduction, or nothing. The reasons: an inner reduction in it, or
/// few columns that something reads whole.
std::optional<std::string> whyNoOuterReduction(const ReductionStructure& structure, const Strides& strides);

/// In a kernel that updates inputs: the other stored tensors of this one's shape, without reductions.
std::vector<TensorView*> besideUpdates(const ReductionStructure& structure, const TensorView& tensor);

/// How many neighbouring elements a thread can access together along the last of the loops. An access has at most 16
/// bytes of the narrowest tensor, and divides what is contiguous in memory.
int64_t vectorOf(Fusion& fusion, const TensorView& tensor, const Strides& strides, int64_t most);

/// Whether the grid may be persistent. An output that is read elsewhere must not be recomputed there, as its iterations
/// would be a loop of their own. Rows of several axes are refused: their indices do not show that the iterations of two
/// tensors are one loop. (The grid of partial outer reductions is persistent anyway.)
bool canUsePersistentGrid(const ReductionStructure& structure);

}  // namespace tokamak
