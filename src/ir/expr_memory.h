// Where the tensors of an expression lie.
#pragma once

#include "ir/expr.h"

namespace tokamak {

/// Whether it reads or writes a tensor that is not in a device's own memory.
bool touchesHostMemory(const Expr& expr);

}  // namespace tokamak
