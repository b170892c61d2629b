// PadOp: a border of a constant around a tensor.
#pragma once

#include "ir/shape_rule.h"

namespace tokamak {

/// Axis i of the result has widths[2i] elements of `value` before and widths[2i + 1] after those of the operand;
/// negative widths cut. `value` has the operand's type; left out, it is 0.
struct PadOp {
  static constexpr OpInfo info{.name = "pad"};
  TensorView* out = nullptr;
  TensorView* in = nullptr;
  std::vector<Scalar*> widths;
  Scalar* value = nullptr;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("out", self.out);
    v.operand("in", self.in);
    v.perAxis("widths", self.widths, self.in);
    v.attribute("value", self.value);
  }

  void infer(const ShapeRule& rule);
};

}  // namespace tokamak
