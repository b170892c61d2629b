// Propagate: applies one tensor's schedule to its producers.
#pragma once

#include "base/export.h"
#include "ir/tensor_view.h"

namespace tokamak {

class DomainGraph;

/// Applies the splits, merges, order and marks of `tensor` to all producers, transitively, on the axes that map. It
/// ends at inputs, and at ops whose scheduled axes map to no axis of an operand (a reshape, a broadcast). What a
/// producer's own schedule says stays.
TOKAMAK_EXPORT void propagate(TensorView* tensor);
/// The same with a given graph.
TOKAMAK_EXPORT void propagate(TensorView* tensor, const DomainGraph& graph);

}  // namespace tokamak
