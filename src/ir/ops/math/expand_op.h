// ExpandOp: broadcast axes shown with a size.
#pragma once

#include "ir/shape_rule.h"

namespace tokamak {

/// Axis i of the result shows shape[i] elements; where that differs from the operand's size, the operand's axis must be
/// a broadcast axis, and stays one (its elements are not copied).
struct ExpandOp {
  static constexpr OpInfo info{.name = "expand", .may_be_view = true};
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
    const Axes axes_in = shapeOf(*in);
    TK_REQUIRE(shape.size() == axes_in.size(), Definition, "expand: {} sizes for {} with {} axes", shape.size(),
               toString(*in), axes_in.size());
    Axes axes;
    for (size_t i = 0; i < shape.size(); ++i) {
      const IterDomain& axis = *axes_in[i];
      if (axis.isBroadcast() && axis.expandedExtent() == nullptr && !shape[i]->isConstantInt(1)) {
        axes.push_back(rule.broadcast(shape[i]));
        continue;
      }
      const auto have = axis.visibleExtent()->constantInt();
      const auto want = shape[i]->constantInt();
      TK_REQUIRE(!have || !want || *have == *want, Definition,
                 "expand: axis {} of {} has size {} and cannot be expanded to {}; only broadcast axes can", i,
                 toString(*in), *have, *want);
      axes.push_back(rule.like(axis));
    }
    out = rule.tensor(in->dtype(), std::move(axes));
  }
};

}  // namespace tokamak
