// SqueezeOp: broadcast axes taken away.
#pragma once

#include "ir/shape_rule.h"

namespace tokamak {

/// The result lacks the operand's axes with flag true; these must be broadcast axes that are not expanded.
struct SqueezeOp {
  static constexpr OpInfo info{.name = "squeeze", .may_be_view = true};
  TensorView* out = nullptr;
  TensorView* in = nullptr;
  std::vector<bool> flags;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("out", self.out);
    v.operand("in", self.in);
    v.perAxis("flags", self.flags, self.in);
  }

  void infer(const ShapeRule& rule) {
    const Axes shape = shapeOf(*in);
    TK_REQUIRE(flags.size() == shape.size(), Definition, "squeeze: {} flags for {} with {} axes", flags.size(),
               toString(*in), shape.size());
    Axes axes;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (!flags[i]) {
        axes.push_back(rule.like(*shape[i]));
        continue;
      }
      TK_REQUIRE(shape[i]->isBroadcast() && shape[i]->expandedExtent() == nullptr, Definition,
                 "squeeze: axis {} of {} is not a broadcast axis of size 1", i, toString(*in));
    }
    out = rule.tensor(in->dtype(), std::move(axes));
  }
};

}  // namespace tokamak
