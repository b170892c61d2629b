// Extent demands: extents that must be equal for ops of which a host program runs only parts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/expr.h"
#include "symbolic/scalar.h"

namespace tokamak {

class HostIrContainer;

/// An op asks for two extents of its operands to be equal. A stream loop runs it on slices along one of them, whose
/// sizes tell nothing of the other: so the program keeps what the whole op asks for.
struct ExtentDemand {
  std::string op;  ///< as programs call it
  Scalar* first = nullptr;
  Scalar* second = nullptr;
  Scalar* unless_zero = nullptr;  ///< nothing is asked for while this is 0; may be null
};

/// What a statement, a math op or a segment with its ops, asks for when a loop runs along its results' axes of the
/// extents `along`; in scalars of the program. Interns scalars in the program and the segment.
std::vector<ExtentDemand> demandsOf(HostIrContainer& program, const Expr& statement,
                                    std::span<const Scalar* const> along);

/// Errors: Bind, naming the op, the extents, and which axes of the program's inputs have them.
void requireDemands(const HostIrContainer& program, const ScalarBindings& bindings);

}  // namespace tokamak
