// Movement: ops that give their operand's elements at other indices, done again to another operand.
#pragma once

#include <memory>
#include <optional>

#include "graph/rewriter.h"

namespace tokamak {

/// Whether the op gives elements of its only tensor and computes none: what may be a view, a set among them.
bool isMovement(const Expr* expr);

/// An axis that has another extent now: of the result and of the operand, which it is the whole of.
struct ChangedAxis {
  size_t result = 0;
  size_t operand = 0;
  Scalar* extent = nullptr;
};

/// What the movement `step` does, done to `in`, of the same fusion: a tensor of the shape of what `step` reads, of any
/// type, but for the changed axis. Appends it to the fusion. Gives its result, a new tensor.
TensorView* redo(const Expr& step, TensorView& in, const std::optional<ChangedAxis>& changed = std::nullopt);

/// The same, not in a fusion yet, as what gives `result`, which has the type that it comes out with.
std::unique_ptr<Expr> redone(const Expr& step, TensorView& in, TensorView* result,
                             const std::optional<ChangedAxis>& changed = std::nullopt);

/// The same, appended as what gives the copy of the expression's result; or that is read in its place. False, with the
/// result as it was, if types would change.
bool redoInPlace(const Fusion& source, const Expr& expr, Cloner& cloner, const Expr& step, TensorView& in,
                 const std::optional<ChangedAxis>& changed = std::nullopt);

}  // namespace tokamak
