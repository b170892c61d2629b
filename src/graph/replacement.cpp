#include "graph/replacement.h"

#include <algorithm>

#include "ir/ops/math/slice_op.h"

namespace tokamak {

bool hasSameShape(const TensorView& a, const TensorView& b) {
  return a.dtype() == b.dtype() &&
         std::ranges::equal(shapeOf(a), shapeOf(b), [](const IterDomain* x, const IterDomain* y) {
           return x->kind() == y->kind() && x->extent() == y->extent() && x->expandedExtent() == y->expandedExtent();
         });
}

bool readInstead(const Fusion& source, const Expr& expr, Cloner& cloner, TensorView* replacement) {
  TensorView* old = asTensor(expr.output(0));
  if (!isReplaceable(source, *old) || !hasSameShape(*replacement, *cloner.clone(old))) return false;
  cloner.substitute(old, replacement);
  return true;
}

bool readOrView(const Fusion& source, const Expr& expr, Cloner& cloner, TensorView* replacement) {
  if (readInstead(source, expr, cloner, replacement)) return true;
  TensorView* old = asTensor(expr.output(0));
  if (!source.isOutput(old) || source.outputAliases().contains(old) || old->memoryKind() != replacement->memoryKind())
    return false;
  SliceOp whole{.in = replacement, .starts = {}, .stops = {}, .steps = {}};
  for (const IterDomain* axis : shapeOf(*replacement)) {
    whole.starts.push_back(cloner.target().constant(0));
    whole.stops.push_back(axis->visibleExtent());
    whole.steps.push_back(cloner.target().constant(1));
  }
  return putInPlace(source, expr, cloner, std::move(whole));
}

}  // namespace tokamak
