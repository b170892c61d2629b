// Extent demands: extents that must be equal for ops that a host program runs on slices.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/expr.h"
#include "symbolic/scalar.h"

namespace tokamak {

class HostIrContainer;

/// Two extents of an op's operands that must be equal. The slices of a stream loop do not have them, so the program
/// keeps the whole op's demand.
struct ExtentDemand {
  std::string op;  ///< as programs call it
  Scalar* first = nullptr;
  Scalar* second = nullptr;
  Scalar* unless_zero = nullptr;  ///< no demand if this is 0; may be null
};

/// The demands of a statement (a math op, or the ops of a segment) in a loop along its results' axes with the extents
/// `along`, in scalars of the program. Interns scalars in the program and the segment.
std::vector<ExtentDemand> demandsOf(HostIrContainer& program, const Expr& statement,
                                    std::span<const Scalar* const> along);

/// Errors: Bind, naming the op, the extents, and which axes of the program's inputs have them.
void requireDemands(const HostIrContainer& program, const ScalarBindings& bindings);

}  // namespace tokamak
