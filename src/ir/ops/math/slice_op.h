// SliceOp: a range of every axis.
#pragma once

#include "ir/shape_rule.h"

namespace tokamak {

/// out[c] = in[start + c * step], of ceilDiv(stop - start, step) elements along each axis; 0 <= start <= stop <= size
/// and step > 0 per axis (checked on constants at once, on symbols when sizes are known).
struct SliceOp {
  static constexpr OpInfo info{.name = "slice", .may_be_view = true};
  TensorView* out = nullptr;
  TensorView* in = nullptr;
  std::vector<Scalar*> starts;
  std::vector<Scalar*> stops;
  std::vector<Scalar*> steps;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("out", self.out);
    v.operand("in", self.in);
    v.perAxis("starts", self.starts, self.in);
    v.extents("stops", self.stops, self.in);
    v.perAxis("steps", self.steps, self.in);
  }

  void infer(const ShapeRule& rule);
};

}  // namespace tokamak
