// Shape constraints: what the ops of a fusion demand of the sizes of a run.
#pragma once

#include <span>
#include <vector>

#include "ir/fusion.h"

namespace tokamak {

/// What the ops' element rules demand of sizes that are known only now: extents that are equal, and reads within the
/// tensors that are read (the first and the last element that each read reaches; those that depend on a condition are
/// guarded by it). Interns scalars in the fusion. Errors: Bind, naming the op.
void requireShapeConstraints(const Fusion& fusion, const ScalarBindings& bindings);

/// The ops whose demands do not hold of all sizes: only these need to be asked at new ones. Interns scalars in the
/// fusion.
std::vector<const Expr*> constrainedExprs(const Fusion& fusion);
/// As requireShapeConstraints, of these ops.
void requireShapeConstraints(std::span<const Expr* const> exprs, const ScalarBindings& bindings);

}  // namespace tokamak
