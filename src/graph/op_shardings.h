// Op shardings: of what a rank computes its part of an op's result from its parts of the operands.
#pragma once

#include <map>

#include "analysis/sharding.h"

namespace tokamak {

struct OpShardings {
  Sharding result;                                       ///< which may be another than that of the result's marks
  std::map<const TensorView*, Sharding, ById> operands;  ///< all of one mesh
};

/// How the op is done such that it is local (host/local/local_ops.h), as near to the marks of its result as it can be.
///
/// For each dimension of the mesh: ranks with parts of an axis of the result read the same parts of the operands, which
/// may be expanded there, or be merged or split by a reshape whose outermost axis it is. Ranks have terms of a result
/// where an operand has parts of an axis that the op adds up (or multiplies, or takes the extreme of), unless another
/// operand already has the parts that the result asks for. Else each computes the whole along that dimension: that is
/// so for ops that read or know positions along the axis (flip, pad, slice, cat), iota apart. Reductions are done on
/// the mesh of their operand.
///
/// Before: all tensors have meshes; extents that must be equal are one scalar (unify-extents), else they are computed
/// whole. Scalars are made in the op's fusion. Errors: HostProgram for a result that is marked partial, and for whose
/// terms no operand has parts; those of shardsOf().
OpShardings localShardings(const Expr& op);

}  // namespace tokamak
