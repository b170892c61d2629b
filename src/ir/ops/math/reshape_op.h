// ReshapeOp: the same elements in row-major order under another shape.
#pragma once

#include "ir/shape_rule.h"

namespace tokamak {

/// The result's shape is `shape`; the number of elements must be the same (checked when sizes are known).
struct ReshapeOp {
  static constexpr OpInfo info{.name = "reshape", .may_be_view = true};
  TensorView* out = nullptr;
  TensorView* in = nullptr;
  std::vector<Scalar*> shape;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("out", self.out);
    v.operand("in", self.in);
    v.extents("shape", self.shape, self.out);
  }

  void infer(const ShapeRule& rule) {
    Scalar* have = rule.fusion().constant(1);
    Scalar* want = have;
    for (const IterDomain* axis : shapeOf(*in)) have = rule.fusion().mul(have, axis->visibleExtent());
    Axes axes;
    for (Scalar* extent : shape) {
      want = rule.fusion().mul(want, extent);
      axes.push_back(rule.sized(extent));
    }
    TK_REQUIRE(!have->isConstant() || !want->isConstant() || have == want, Definition,
               "reshape: {} has {} elements, the new shape {}", toString(*in), toString(*have), toString(*want));
    out = rule.tensor(in->dtype(), std::move(axes));
  }
};

}  // namespace tokamak
