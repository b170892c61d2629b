// BroadcastOp: new axes of extent 1.
#pragma once

#include <algorithm>

#include "ir/shape_rule.h"

namespace tokamak {

/// The result has one axis per flag: true a new broadcast axis, false the next axis of the operand.
struct BroadcastOp {
  static constexpr OpInfo info{.name = "broadcast", .may_be_view = true};
  TensorView* out = nullptr;
  TensorView* in = nullptr;
  std::vector<bool> flags;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("out", self.out);
    v.operand("in", self.in);
    v.perAxis("flags", self.flags, self.out);
  }

  void infer(const ShapeRule& rule) {
    const Axes shape = shapeOf(*in);
    const auto kept = static_cast<size_t>(std::ranges::count(flags, false));
    TK_REQUIRE(kept == shape.size(), Definition, "broadcast: flags keep {} axes, but {} has {}", kept, toString(*in),
               shape.size());
    Axes axes;
    size_t next = 0;
    for (const bool is_new : flags) axes.push_back(is_new ? rule.broadcast() : rule.like(*shape[next++]));
    out = rule.tensor(in->dtype(), std::move(axes));
  }
};

}  // namespace tokamak
