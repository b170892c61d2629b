// Movement: ops that only change the indices of elements, and how to rebuild them for another operand.
#pragma once

#include <memory>
#include <optional>

#include "graph/rewriter.h"

namespace tokamak {

/// Whether the op only moves or copies elements of its one operand, so that it may be a view. (A set is one.)
bool isMovement(const Expr* expr);

/// An axis with another extent: that of the result, which is all of that of the operand.
struct ChangedAxis {
  size_t result = 0;
  size_t operand = 0;
  Scalar* extent = nullptr;
};

/// Appends the movement `step` with the operand `in`, of the same fusion, and returns its new result. `in` has the
/// shape of the step's operand, but for the changed axis, and any type.
TensorView* rebuild(const Expr& step, TensorView& in, const std::optional<ChangedAxis>& changed = std::nullopt);

/// The same as an expression in no fusion yet, with this result, whose type has to fit.
std::unique_ptr<Expr> rebuilt(const Expr& step, TensorView& in, TensorView* result,
                              const std::optional<ChangedAxis>& changed = std::nullopt);

/// Appends the same to compute the copy of the expression's result, or to be read instead of it. False, with nothing
/// changed, if types would change.
bool rebuildInPlace(const Fusion& source, const Expr& expr, Cloner& cloner, const Expr& step, TensorView& in,
                    const std::optional<ChangedAxis>& changed = std::nullopt);

}  // namespace tokamak
