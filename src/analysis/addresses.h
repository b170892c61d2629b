// Addresses: the strides of tensors in global memory, and the linear index of an element.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "ir/fusion.h"
#include "symbolic/interval_analysis.h"

namespace tokamak {

/// Strides in elements, per axis of the visible shape. An axis that is dense with the next one in memory has the stride
/// that follows; a broadcast axis has 0; any other one a symbol named s<number>_<axis>. Errors: Unsupported when the
/// layout has axes of its own.
std::vector<Scalar*> stridesOf(Fusion& fusion, const TensorView& tensor, size_t number);

/// Per tensor its strides.
using Strides = std::map<const TensorView*, std::vector<Scalar*>, ById>;
/// Of a fusion's tensor inputs and its outputs.
Strides globalStrides(Fusion& fusion);

/// outer * inner_extent + inner; x itself when they are x / inner_extent and y % inner_extent, and y is x or differs by
/// a multiple of inner_extent (which the simplifier leaves out of remainders).
Scalar* mergedIndex(Fusion& fusion, IntervalAnalysis& analysis, Scalar* outer, Scalar* inner, Scalar* inner_extent);

/// The place of an element in a buffer. Dense axes are linearised from the outside in, ( i * extent(j) + j ) *
/// extent(k) + k, so that parts of one index come together again.
Scalar* linearIndex(Fusion& fusion, IntervalAnalysis& analysis, const TensorView& tensor,
                    std::span<Scalar* const> strides, std::span<Scalar* const> index);

}  // namespace tokamak
