// FullOp: a tensor of one value.
#pragma once

#include "ir/shape_rule.h"

namespace tokamak {

/// out[c] = value, converted to `dtype`.
struct FullOp {
  static constexpr OpInfo info{.name = "full"};
  TensorView* out = nullptr;
  std::vector<Scalar*> shape;
  Scalar* value = nullptr;
  DataType dtype = DataType::F32;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("out", self.out);
    v.extents("shape", self.shape, self.out);
    v.attribute("value", self.value);
    v.attribute("dtype", self.dtype);
  }

  void infer(const ShapeRule& rule) {
    TK_REQUIRE(value != nullptr, Definition, "full: 'value' is missing; give the value of every element");
    Axes axes;
    for (Scalar* extent : shape) axes.push_back(rule.sized(extent));
    out = rule.tensor(dtype, std::move(axes));
  }
};

}  // namespace tokamak
