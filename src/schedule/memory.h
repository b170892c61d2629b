// A tensor's memory: memory types, allocation domains, padding, circular buffers. Errors: Schedule.
#pragma once

#include <vector>

#include "base/export.h"
#include "ir/tensor_view.h"

namespace tokamak {

/// Local, Shared or Global. Inputs and outputs are always in global memory.
TOKAMAK_EXPORT void set_memory_type(TensorView* tensor, MemoryType type);

/// The order of the current loop axes in memory, slowest first: a permutation of all of them. Elements are dense.
TOKAMAK_EXPORT void set_allocation(TensorView* tensor, const std::vector<int64_t>& axes);
/// The allocation domain becomes the loop domain.
TOKAMAK_EXPORT void set_allocation_as_loop(TensorView* tensor);

/// Adds `elements` (0 or more) to the loop axis' stride in the buffer, so that columns of a tile in shared memory are
/// in different banks.
TOKAMAK_EXPORT void pad_buffer(TensorView* tensor, int64_t axis, int64_t elements);

/// Gives the tensor, a copy that is no output, `stages` (at least 2) buffers, each filled `prefetch` iterations (at
/// least 1, less than `stages`) before it is read.
TOKAMAK_EXPORT void circular_buffer(TensorView* tensor, int64_t stages, int64_t prefetch);

}  // namespace tokamak
