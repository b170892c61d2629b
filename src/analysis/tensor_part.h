// TensorPart: the indices of a tensor that a rank has, as numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/shards.h"

namespace tokamak {

/// Per visible axis of a tensor of these whole sizes, what `rank` has of it: all of an axis that is not sharded.
/// `bindings`: of what chunks are computed from. Legal: the rank is in the tensor's mesh, where it has one.
/// Errors: those of shardsOf(); Bind where a chunk is not known.
std::vector<IndexRange> partOf(const TensorView& tensor, std::span<const int64_t> sizes, const ScalarBindings& bindings,
                               int64_t rank);

}  // namespace tokamak
