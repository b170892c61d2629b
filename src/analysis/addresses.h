// Addresses: the strides of tensors in global memory, and the linear index of an element.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "ir/fusion.h"
#include "symbolic/interval_analysis.h"

namespace tokamak {

/// Strides in elements, per axis of the visible shape: computed for an axis that is dense with the next one in memory,
/// 0 for a broadcast axis, else a symbol s<number>_<axis>. Errors: Unsupported if the allocation domain has other axes.
std::vector<Scalar*> stridesOf(Fusion& fusion, const TensorView& tensor, size_t number);

/// Tensor -> strides.
using Strides = std::map<const TensorView*, std::vector<Scalar*>, ById>;
/// The strides of a fusion's tensor inputs and outputs.
Strides globalStrides(Fusion& fusion);

/// outer * inner_extent + inner; or x if outer is x / inner_extent, inner is y % inner_extent, and y - x is a multiple
/// of inner_extent (which the simplifier drops from remainders).
Scalar* mergedIndex(Fusion& fusion, IntervalAnalysis& analysis, Scalar* outer, Scalar* inner, Scalar* inner_extent);

/// The index of an element in a buffer. Dense axes are linearised outermost first, ( i * extent(j) + j ) * extent(k) +
/// k, so that the parts of a split index merge again.
Scalar* linearIndex(Fusion& fusion, IntervalAnalysis& analysis, const TensorView& tensor,
                    std::span<Scalar* const> strides, std::span<Scalar* const> index);

}  // namespace tokamak
