// PointwiseOp: a row of the function table applied element by element.
#pragma once

#include "ir/shape_rule.h"
#include "symbolic/functions.h"

namespace tokamak {

/// out[c] = function(in0[c], in1[c], ...). Tensors among the operands have equal rank and equal sizes but for broadcast
/// axes; scalars apply to every element. Operand types are already those of the function's type rule: define/ inserts
/// the casts.
struct PointwiseOp {
  static constexpr OpInfo info{.name = "pointwise"};
  TensorView* out = nullptr;
  FunctionId function = {};
  std::vector<Val*> ins;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("out", self.out);
    v.spelling("function", self.function);
    v.operands("in", self.ins);
  }

  void infer(const ShapeRule& rule);
};

}  // namespace tokamak
