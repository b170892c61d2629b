// Rules: how each math op computes an element of its result. An op's rule stands in compute/ops/<op>.cpp; a missing one
// does not link.
#pragma once

#include "compute/element.h"

namespace tokamak {

#define TK_DECLARE_RULE(Op) void rule(const Op& op, ElementBuilder& b);
TK_MATH_OPS(TK_DECLARE_RULE)
#undef TK_DECLARE_RULE

/// How the result of a math op is computed. Interns scalars in the op's fusion, so that it counts as a change of it.
ElementRule ruleOf(const Expr& expr);

}  // namespace tokamak
