// IotaOp: an arithmetic sequence.
#pragma once

#include "ir/shape_rule.h"

namespace tokamak {

/// out[c] = start + c * step for c in [0, length), of floating types rounded once; start is 0 and step 1 when left out.
struct IotaOp {
  static constexpr OpInfo info{.name = "iota"};
  TensorView* out = nullptr;
  Scalar* length = nullptr;
  Scalar* start = nullptr;
  Scalar* step = nullptr;
  DataType dtype = DataType::I64;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("out", self.out);
    v.extents("length", self.length, self.out);
    v.origin("start", self.start, self.out);
    v.attribute("step", self.step);
    v.attribute("dtype", self.dtype);
  }

  void infer(const ShapeRule& rule) {
    TK_REQUIRE(dtype != DataType::Bool, Definition, "iota: dtype bool cannot count; choose a numeric type");
    TK_REQUIRE(length != nullptr, Definition, "iota: 'length' is missing; give the number of elements");
    if (start == nullptr) start = rule.fusion().constant(0);
    if (step == nullptr) step = rule.fusion().constant(1);
    out = rule.tensor(dtype, {rule.sized(length)});
  }
};

}  // namespace tokamak
