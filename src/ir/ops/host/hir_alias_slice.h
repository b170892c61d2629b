// HirAliasSlice: a view of a range of an axis.
#pragma once

#include "ir/fields.h"

namespace tokamak {

/// `out` is the view of `in` at [start, stop) along logical axis `axis` (reduction axes count); no copy.
struct HirAliasSlice {
  static constexpr OpInfo info{.name = "HirAliasSlice"};
  TensorView* out = nullptr;
  TensorView* in = nullptr;
  int64_t axis = 0;
  Scalar* start = nullptr;
  Scalar* stop = nullptr;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("out", self.out);
    v.operand("in", self.in);
    v.attribute("axis", self.axis);
    v.attribute("start", self.start);
    v.attribute("stop", self.stop);
  }
};

}  // namespace tokamak
