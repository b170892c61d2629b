// Rewrite: one value for another in an expression of a fusion.
#pragma once

#include "ir/expr.h"

namespace tokamak {

/// Puts the same op with `to` wherever it named `from`, as operand, result or attribute, in the expression's place (see
/// Fusion::replaceExpr). Gives the new expression.
Expr* replaceVal(Expr* expr, Val* from, Val* to);

}  // namespace tokamak
