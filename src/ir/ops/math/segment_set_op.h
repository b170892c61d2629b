// SegmentSetOp: a copy with the same shape at which a program is cut ("segment_set").
#pragma once

#include "ir/shape_rule.h"

namespace tokamak {

/// out[c] = in[c]. Nothing that reads the result is in the same segment (or kernel) as this op: it is a border that a
/// user draws. The segment that computes the operand may store the result, so that no copy is made.
struct SegmentSetOp {
  static constexpr OpInfo info{
      .name = "segment_set",
      .ends_group = true,
      .meaning = "a copy at which the program is cut: nothing that reads it is in the same kernel",
      .example_inputs = "x: f32[4, 8]",
      .example_call = "y = sin(segment_set(exp(x)))"};
  TensorView* out = nullptr;
  TensorView* in = nullptr;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("out", self.out);
    v.operand("in", self.in);
  }

  void infer(const ShapeRule& rule) {
    Axes axes;
    for (const IterDomain* axis : shapeOf(*in)) axes.push_back(rule.like(*axis));
    out = rule.tensor(in->dtype(), std::move(axes));
  }
};

}  // namespace tokamak
