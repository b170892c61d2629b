// Pass make-reshardings: makes every op of a program over devices local, by Sets between shardings.
//
//   y[i]            = exp(x[DIDx])                ->  x' = set(x); y = exp(x')
//   y[i]            = sum(x[i, DIDx])             ->  t partial(sum, DIDx) = sum(x); y = set(t)
//   y               = linear(x[k], w[.., k], b)   ->  t = linear(x, w, dtype=f32); y = cast(add(set(t), b))
//   y[DIDx]         = flip(x[DIDx])               ->  t = flip(set(x)); y = set(t)
//
// A resharding is a Set whose operand and result differ in one dimension of their mesh, or in their meshes
// (analysis/resharding_steps.h). Everything else is done by each rank alone (graph/op_shardings.h). Sets that are read
// by an op of a stream loop have its Stream mark, and stand in its loop; marks of merged axes are not copied. One Set
// serves all readers that ask for the same.
//
// Before: a legal fusion whose marks are complete, as propagation or the user gave them, with unified extents
// (unify-extents). A tensor without a mesh is replicated over that of its first operand that has one, an input over
// that of a reader; where neither tells, over the fusion's first mesh. A fusion without meshes stays as it is.
// After: all tensors have meshes; marks that were there are the same, except that what was computed in another way
// keeps marks and names on the Set behind it. Doing it again changes nothing.
//
// It stands behind the simplifying passes, which know no devices, and before host/lower, which makes communications of
// the Sets.
// Errors: HostProgram for an output that has other parts than the input that it updates, for partial marks that nothing
// gives (localShardings()), and those of shardsOf().
#pragma once

#include <memory>

#include "ir/fusion.h"

namespace tokamak {

std::unique_ptr<Fusion> makeReshardings(const Fusion& fusion);

}  // namespace tokamak
