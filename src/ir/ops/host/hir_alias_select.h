// HirAliasSelect: a view of one index of an axis.
#pragma once

#include "ir/fields.h"

namespace tokamak {

/// `out` is the view of `in` at `index` along logical axis `axis` (reduction axes count); no copy. The result has the
/// other axes, reductions included.
struct HirAliasSelect {
  static constexpr OpInfo info{.name = "HirAliasSelect"};
  TensorView* out = nullptr;
  TensorView* in = nullptr;
  int64_t axis = 0;
  Scalar* index = nullptr;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("out", self.out);
    v.operand("in", self.in);
    v.attribute("axis", self.axis);
    v.attribute("index", self.index);
  }
};

}  // namespace tokamak
