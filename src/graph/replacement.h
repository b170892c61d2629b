// Replacement: how a pass puts another op in an expression's place while a fusion is rewritten.
#pragma once

#include "graph/rewriter.h"
#include "ir/shape_rule.h"

namespace tokamak {

/// Whether consumers of `a` could read `b` and be of the same types: element type, and the axes without reductions.
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

/// Lets consumers read `by`, a tensor of the target, instead of the expression's result. False, with nothing done, if
/// they may not.
bool readInstead(const Fusion& source, const Expr& expr, Cloner& cloner, TensorView* by);

/// The same; but where the expression's result is an output, which updates no input, it becomes all of `by`, a slice
/// that cuts nothing: a view, where it may be one.
bool readOrShow(const Fusion& source, const Expr& expr, Cloner& cloner, TensorView* by);

}  // namespace tokamak
