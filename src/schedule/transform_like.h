// Applies one tensor's schedule to all connected tensors, producers and consumers.
#pragma once

#include <cstdint>
#include <span>

#include "ir/tensor_view.h"

namespace tokamak {

/// Replays the splits, merges, swizzles and order of `tensor` on every connected tensor, on the axes that map, along
/// the path that keeps most of them. Broadcast axes map like others, and reduction axes like the axis that they reduce.
/// Mapped axes come first, in the order of `tensor`. Inputs, other schedules and shared loops do not change.
/// It ends at the tensors of `boundary`, included; where `tensors` are named, it reaches these alone. Marks are not
/// replayed (parallelize_like).
void transform_like(TensorView* tensor, std::span<TensorView* const> boundary = {},
                    std::span<TensorView* const> tensors = {});

/// Marks every axis that maps to a marked loop axis of `tensor` like it, in these tensors (if none is named: all but
/// inputs), with these types (if none is named: all but Serial). Of `tensor` the first `position` loops count; -1: all,
/// -2: all but the last. Errors: Schedule for a position that it lacks, and if an axis cannot be marked so; then
/// nothing changes.
void parallelize_like(TensorView* tensor, std::span<TensorView* const> tensors = {},
                      std::span<const ParallelType> types = {}, int64_t position = -1);

}  // namespace tokamak
