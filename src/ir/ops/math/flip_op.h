// FlipOp: axes in reverse order.
#pragma once

#include "ir/shape_rule.h"

namespace tokamak {

/// out[.., c, ..] = in[.., size - 1 - c, ..] along each of `axes`, as numpy.flip; no axes: a copy. Shape and type are
/// those of the operand. Errors: Definition for an axis out of range or named twice.
struct FlipOp {
  static constexpr OpInfo info{.name = "flip",
                               .meaning = "the elements in reverse order along these axes; a copy without axes",
                               .example_inputs = "x: f32[4, 8]",
                               .example_call = "y = flip(x, axes=[1])"};
  TensorView* out = nullptr;
  TensorView* in = nullptr;
  std::vector<int64_t> axes;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("out", self.out);
    v.operand("in", self.in);
    v.axes("axes", self.axes, self.in);
  }

  void infer(const ShapeRule& rule) {
    axes = rule.normalAxes(axes, *in);
    Axes result;
    for (const IterDomain* axis : shapeOf(*in)) result.push_back(rule.like(*axis));
    out = rule.tensor(in->dtype(), std::move(result));
  }
};

}  // namespace tokamak
