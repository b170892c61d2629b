// MatmulOp: products of matrices, batched over leading axes.
#pragma once

#include <optional>

#include "ir/shape_rule.h"

namespace tokamak {

/// out[.., m, n] = sum over k of a[.., m, k] * b[.., k, n]. Leading axes broadcast as in NumPy; an operand of rank 1 is
/// a row (a) or a column (b) whose axis is missing in the result. Operands and result have one type, unless halves give
/// f32 (`dtype`): then the sums are not rounded to the halves' type. Floating types are accumulated in f32 or wider,
/// integers wrap. The result carries a trailing reduction axis for k.
struct MatmulOp {
  static constexpr OpInfo info{.name = "matmul",
                               .stands_alone = true,
                               .is_library = true,
                               .meaning =
                                   "the matrix product of the last two axes, batched over those before; dtype=f32 "
                                   "keeps the sums of halves in f32",
                               .example_inputs = "x: f32[4, 8], w: f32[8, 6]",
                               .example_call = "y = matmul(x, w)"};
  TensorView* out = nullptr;
  TensorView* a = nullptr;
  TensorView* b = nullptr;
  std::optional<DataType> dtype;  ///< of the result; none: that of the operands

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("out", self.out);
    v.operand("a", self.a);
    v.operand("b", self.b);
    v.attribute("dtype", self.dtype);
  }

  void infer(const ShapeRule& rule);
};

}  // namespace tokamak
