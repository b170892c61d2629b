// Where and how a tensor's elements are kept: memory types, allocation domains, circular buffers. Errors: Schedule.
#pragma once

#include <vector>

#include "base/export.h"
#include "ir/tensor_view.h"

namespace tokamak {

/// Local, Shared or Global; inputs and outputs are in global memory and stay there.
TOKAMAK_EXPORT void set_memory_type(TensorView* tensor, MemoryType type);

/// The order of the loop axes in memory, from the slowest to the fastest: a permutation of all loop axes as they are
/// now. Elements are dense.
TOKAMAK_EXPORT void set_allocation(TensorView* tensor, const std::vector<int64_t>& axes);
/// The same in the order of the loops.
TOKAMAK_EXPORT void set_allocation_as_loop(TensorView* tensor);

/// In the tensor's buffer, neighbours along the loop axis are `elements` (0 or more) further apart than what is inside
/// of it takes: then columns of a tile in shared memory lie in different banks.
TOKAMAK_EXPORT void pad_buffer(TensorView* tensor, int64_t axis, int64_t elements);

/// The tensor, a copy that is no output, gets `stages` (2 at least) buffers in turn, each filled `prefetch` iterations
/// (1 at least, less than `stages`) before it is read.
TOKAMAK_EXPORT void circular_buffer(TensorView* tensor, int64_t stages, int64_t prefetch);

}  // namespace tokamak
