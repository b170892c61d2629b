// Rewriter: how a pass over a whole fusion makes the changed fusion from the old one, which stays as it is.
#pragma once

#include <functional>
#include <memory>

#include "ir/clone.h"

namespace tokamak {

/// Copies everything that outputs depend on, in order. `replace(expr, cloner)` may put something else in an
/// expression's place: it gives every result a counterpart in the target (Cloner::substitute, or an expression that it
/// appends) and returns true; false copies the expression. Inputs stay, used or not.
std::unique_ptr<Fusion> rewriteFusion(const Fusion& source, const std::function<bool(const Expr&, Cloner&)>& replace);

/// The op that gives the tensor, if it is one of this kind; of a copy, what has been put in its place.
template <class Op>
const Op* madeBy(const TensorView& tensor) {
  return tensor.definition() == nullptr ? nullptr : tensor.definition()->as<Op>();
}

/// Whether nobody has said anything about the tensor's loops, marks, layout, memory or devices.
bool isUnmarked(const TensorView& tensor);

/// Whether another tensor of the same values may stand in this one's place: it is no output and unmarked.
bool isReplaceable(const Fusion& fusion, const TensorView& tensor);

}  // namespace tokamak
