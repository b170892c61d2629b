// Operand views: what is only moved before a matrix product that reads it in place.
#pragma once

#include <vector>

#include "device/kernel_target.h"
#include "ir/fusion.h"

namespace tokamak {

/// Chains of permutes, reshapes and the like, each in program order, from a tensor to an operand of products. They are
/// views that the target's library reads as they lie in memory, so they need no kernel and no memory (docs/views.md).
/// Only the next step reads what a step gives, and only products read what the last one gives. Chains are as long as
/// can be. `fusion` has no schedule. Interns scalars in it.
///
/// A product's result that only a chain reads gets the stride order (a hint) in which that chain is a view: heads are
/// moved behind rows as the product stores them.
std::vector<std::vector<Expr*>> makeOperandViews(const Fusion& fusion, const KernelTarget& target);

}  // namespace tokamak
