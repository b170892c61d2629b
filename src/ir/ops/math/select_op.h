// SelectOp: one index of an axis.
#pragma once

#include "ir/shape_rule.h"

namespace tokamak {

/// out[.., ..] = in[.., index, ..] with `axis` taken away; 0 <= index < size (checked when values are known).
struct SelectOp {
  static constexpr OpInfo info{.name = "select", .may_be_view = true};
  TensorView* out = nullptr;
  TensorView* in = nullptr;
  int64_t axis = 0;
  Scalar* index = nullptr;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("out", self.out);
    v.operand("in", self.in);
    v.axis("axis", self.axis, self.in);
    v.attribute("index", self.index);
  }

  void infer(const ShapeRule& rule) {
    TK_REQUIRE(index != nullptr, Definition, "select: 'index' is missing; give the position along axis {} of {}", axis,
               toString(*in));
    axis = rule.normalAxis(axis, *in);
    const Axes shape = shapeOf(*in);
    const auto i = index->constantInt();
    const auto size = shape[static_cast<size_t>(axis)]->visibleExtent()->constantInt();
    TK_REQUIRE(!i || (*i >= 0 && (!size || *i < *size)), Definition,
               "select: index {} is out of bounds for axis {} of {}", *i, axis, toString(*in));
    Axes axes;
    for (size_t a = 0; a < shape.size(); ++a) {
      if (static_cast<int64_t>(a) != axis) axes.push_back(rule.like(*shape[a]));
    }
    out = rule.tensor(in->dtype(), std::move(axes));
  }
};

}  // namespace tokamak
