// One tensor's schedule carried over to all tensors that go along, both ways: to those that it is computed from and
// those computed from it.
#pragma once

#include <span>

#include "ir/tensor_view.h"

namespace tokamak {

/// Replays the splits, merges, swizzles and order of `tensor` on every tensor that is connected with it, as far as
/// their axes go along: on the way that keeps most of the axes. Broadcast axes take part as ordinary ones, reduction
/// axes where the axis they run over does; axes that go along come first, in the order of `tensor`. Where a tensor is
/// scheduled in another way already, or its loops are shared, that stays; so do inputs. It ends at the tensors of
/// `boundary`, which still take part. Marks are not carried over (parallelize_like).
void transform_like(TensorView* tensor, std::span<TensorView* const> boundary = {});

/// Marks every axis that goes along with a marked loop axis of `tensor` in the same way, in these tensors (all but
/// inputs if none is named), with these types (all but Serial if none is named). Errors: Schedule when a tensor cannot
/// be marked so; nothing is marked then.
void parallelize_like(TensorView* tensor, std::span<TensorView* const> tensors = {},
                      std::span<const ParallelType> types = {});

}  // namespace tokamak
