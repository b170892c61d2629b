// LoadStoreOp: a copy with the same shape ("set").
#pragma once

#include "ir/cache_op.h"
#include "ir/describe.h"
#include "ir/shape_rule.h"

namespace tokamak {

template <>
struct EnumNames<CacheOp> {
  static constexpr std::string_view names[] = {"Unspecified", "AllLevels", "Streaming", "Global"};
};

/// out[c] = in[c]. The result may live in another kind of memory than the operand.
struct LoadStoreOp {
  static constexpr OpInfo info{.name = "set", .stands_alone = true, .may_be_view = true};
  TensorView* out = nullptr;
  TensorView* in = nullptr;
  CacheOp cache_op = kUsualCacheOp;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("out", self.out);
    v.operand("in", self.in);
    v.attribute("cache_op", self.cache_op);
  }

  void infer(const ShapeRule& rule) {
    Axes axes;
    for (const IterDomain* axis : shapeOf(*in)) axes.push_back(rule.like(*axis));
    out = rule.tensor(in->dtype(), std::move(axes));
  }
};

}  // namespace tokamak
