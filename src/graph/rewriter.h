// Rewriter: makes a changed fusion from an old one, which does not change.
#pragma once

#include <functional>
#include <memory>

#include "ir/clone.h"

namespace tokamak {

/// Copies all that outputs depend on, in order. `replace(expr, cloner)` may replace an expression: it gives every
/// result a counterpart in the target (Cloner::substitute, or an expression that it appends) and returns true. If it
/// returns false, the expression is copied. Inputs stay, used or not.
std::unique_ptr<Fusion> rewriteFusion(const Fusion& source, const std::function<bool(const Expr&, Cloner&)>& replace);

/// The tensor's definition, if it is an op of this kind. (In the target: that of the replacement.)
template <class Op>
const Op* madeBy(const TensorView& tensor) {
  return tensor.definition() == nullptr ? nullptr : tensor.definition()->as<Op>();
}

/// Whether the tensor has no schedule, layout, memory type or device mark of its own.
bool isUnmarked(const TensorView& tensor);

/// Whether a tensor with equal values may replace this one: it is no output, and unmarked.
bool isReplaceable(const Fusion& fusion, const TensorView& tensor);

}  // namespace tokamak
