// PermuteOp: axes in another order.
#pragma once

#include "ir/shape_rule.h"

namespace tokamak {

/// Axis i of the result is axis order[i] of the operand.
struct PermuteOp {
  static constexpr OpInfo info{.name = "permute", .may_be_view = true};
  TensorView* out = nullptr;
  TensorView* in = nullptr;
  std::vector<int64_t> order;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("out", self.out);
    v.operand("in", self.in);
    v.permutation("order", self.order, self.in);
  }

  void infer(const ShapeRule& rule) {
    const Axes shape = shapeOf(*in);
    TK_REQUIRE(order.size() == shape.size(), Definition, "permute: {} axes in the order for {} with {} axes",
               order.size(), toString(*in), shape.size());
    for (int64_t& axis : order) axis = rule.normalAxis(axis, *in);
    static_cast<void>(rule.normalAxes(order, *in));
    Axes axes;
    for (const int64_t axis : order) axes.push_back(rule.like(*shape[static_cast<size_t>(axis)]));
    out = rule.tensor(in->dtype(), std::move(axes));
  }
};

}  // namespace tokamak
