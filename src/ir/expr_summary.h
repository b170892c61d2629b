// The one-line summary of an expression: enough to find it in a dump.
#pragma once

#include <string>

#include "ir/expr.h"

namespace tokamak {

/// "T3 = matmul(T1, T2)"; attributes are left out.
std::string summaryOf(const Expr& expr);

}  // namespace tokamak
