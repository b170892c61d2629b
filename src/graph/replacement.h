// Replacement: replaces an expression by another op while a fusion is rewritten.
#pragma once

#include "graph/rewriter.h"
#include "ir/shape_rule.h"

namespace tokamak {

/// Whether the tensors have the same element type and the same axes (without reductions), so that readers of `a` may
/// read `b`.
bool hasSameShape(const TensorView& a, const TensorView& b);

/// Appends `op`, whose operands are nodes of the target, as what gives the copy of the expression's result, or a result
/// of its own if the old one has reduction axes. False, with nothing done, if types would change.
template <class Op>
bool putInPlace(const Fusion& source, const Expr& expr, Cloner& cloner, Op op) {
  TensorView* old = asTensor(expr.output(0));
  op.infer(ShapeRule(cloner.target(), Op::info.name));
  TensorView* copy = cloner.clone(old);
  if (!hasSameShape(*op.out, *copy)) return false;
  if (op.out->logical().size() == old->logical().size()) {
    op.out = copy;
  } else {
    if (!isReplaceable(source, *old)) return false;
    op.out->setNamesOf(*old);
    cloner.substitute(old, op.out);
  }
  cloner.target().appendOp(std::move(op));
  return true;
}

/// Makes readers of the expression's result read `replacement`, a tensor of the target. False, with nothing changed, if
/// they may not.
bool readInstead(const Fusion& source, const Expr& expr, Cloner& cloner, TensorView* replacement);

/// The same; but a result that is an output, and updates no input, becomes a slice of all of `replacement`, which may
/// be a view.
bool readOrView(const Fusion& source, const Expr& expr, Cloner& cloner, TensorView* replacement);

}  // namespace tokamak
