// TakeAlongAxisOp: elements of a tensor at positions along an axis that another tensor tells.
#pragma once

#include "ir/shape_rule.h"

namespace tokamak {

/// out[.., j, ..] = in[.., index[.., j, ..], ..] along `axis`, whose size is that of `index`; along the other axes in
/// and index (of one rank) broadcast to a common shape. A position outside of [0, size) is clamped into it; where the
/// size is 0 the result is 0. Positions are i32 or i64.
struct TakeAlongAxisOp {
  static constexpr OpInfo info{.name = "take_along_axis"};
  TensorView* out = nullptr;
  TensorView* in = nullptr;
  TensorView* index = nullptr;
  int64_t axis = 0;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("out", self.out);
    v.operand("in", self.in);
    v.operand("index", self.index);
    v.axis("axis", self.axis, self.out);
  }

  void infer(const ShapeRule& rule);
};

}  // namespace tokamak
