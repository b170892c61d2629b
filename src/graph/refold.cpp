#include "graph/refold.h"

#include <algorithm>

namespace tokamak {

bool hasSameShape(const TensorView& a, const TensorView& b) {
  return a.dtype() == b.dtype() &&
         std::ranges::equal(shapeOf(a), shapeOf(b), [](const IterDomain* x, const IterDomain* y) {
           return x->kind() == y->kind() && x->extent() == y->extent() && x->expandedExtent() == y->expandedExtent();
         });
}

bool readInstead(const Fusion& source, const Expr& expr, Cloner& cloner, TensorView* by) {
  TensorView* old = asTensor(expr.output(0));
  if (!isReplaceable(source, *old) || !hasSameShape(*by, *cloner.clone(old))) return false;
  cloner.substitute(old, by);
  return true;
}

}  // namespace tokamak
