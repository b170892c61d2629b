// The structured ops as a user calls them: one C++ function per header in ir/ops/math/.
//
// An op without functions of its own gets one from its description: `flip(in, ...)` is define<FlipOp>(in, ...), see
// define/define_op.h. Ops whose calls do more (negative numbers, keepdim, promotion) have theirs in shapes.h,
// indexing.h and reductions.h.
#pragma once

#include "define/define_op.h"
#include "define/indexing.h"
#include "define/reductions.h"
#include "define/shapes.h"

namespace tokamak {

#define TK_DEFINE_STRUCTURED(Op, name)        \
  template <class... Args>                    \
    requires(!defining::has_own_function<Op>) \
  TensorView* name(const Args&... args) {     \
    return define<Op>(args...);               \
  }
TK_MATH_OP_NAMES(TK_DEFINE_STRUCTURED)
#undef TK_DEFINE_STRUCTURED

}  // namespace tokamak
