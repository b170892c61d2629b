// Whether the sizes of a run fit the ops of a fusion.
#pragma once

#include <span>
#include <vector>

#include "ir/fusion.h"

namespace tokamak {

/// What the ops' element rules demand of sizes that are known only now: extents that are equal, and reads within the
/// tensors that are read (the first and the last element that each read reaches; those that depend on a condition are
/// guarded by it). Interns scalars in the fusion. Errors: Bind, naming the op.
void requireFittingSizes(const Fusion& fusion, const ScalarBindings& bindings);

/// The ops whose demands do not hold of all sizes: only these need to be asked at new ones. Interns scalars in the
/// fusion.
std::vector<const Expr*> demandingExprs(const Fusion& fusion);
/// As requireFittingSizes, of these ops.
void requireFittingSizes(std::span<const Expr* const> exprs, const ScalarBindings& bindings);

}  // namespace tokamak
