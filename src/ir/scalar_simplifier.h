// The scalar simplifier: rewrites a scalar into an equal, smaller one.
#pragma once

namespace tokamak {

class Scalar;

/// A scalar equal to this one under every binding that satisfies the rules' preconditions (see the table in
/// scalar_simplifier.cpp; extents are >= 0). Idempotent; returns the same node when nothing applies.
Scalar* simplify(Scalar* scalar);

}  // namespace tokamak
