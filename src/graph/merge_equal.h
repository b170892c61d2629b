// Pass merge-equal: computes once what is computed several times in the same way.
//
// Two expressions are equal when op, attributes and operands are, operands being equal themselves. The later result is
// replaced by the earlier one unless something was said about it (a schedule, a layout). Where it is an output, the
// earlier one becomes that output, if it is none itself; movement stays, as it may be a view. A set stays, as its
// reader wants a copy. Before: any fusion. After: no two equal expressions with replaceable results. It stands after
// fold-casts, which makes more expressions equal.
#pragma once

#include <memory>

#include "ir/fusion.h"

namespace tokamak {

std::unique_ptr<Fusion> mergeEqual(const Fusion& fusion);

/// The fusion in which outputs that are computed as an earlier one is are all of that, by a slice that cuts nothing,
/// and what reads them reads that one; or null if there are none. Of outputs that update inputs, that something was
/// said about, and sets nothing changes. For callers who take views.
std::unique_ptr<Fusion> showEqualOutputs(const Fusion& fusion);

}  // namespace tokamak
