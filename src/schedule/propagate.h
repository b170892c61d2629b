// Propagate: one tensor's schedule carried over to the tensors it is computed from.
#pragma once

#include "base/export.h"
#include "ir/tensor_view.h"

namespace tokamak {

class DomainGraph;

/// Gives every producer, producers of producers and so on, the splits, merges, order and marks of `tensor` on those
/// axes that go along. It ends at an op along whose result's scheduled axes no operand axis goes (a reshape, a
/// broadcast), and at inputs, which stay as the caller gives them. Where a producer is scheduled in another way
/// already, that stays.
TOKAMAK_EXPORT void propagate(TensorView* tensor);
/// The same with a graph made before.
TOKAMAK_EXPORT void propagate(TensorView* tensor, const DomainGraph& graph);

}  // namespace tokamak
