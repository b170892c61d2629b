// LinearOp: a matrix product with the transposed weight, and a bias.
#pragma once

#include <optional>

#include "ir/shape_rule.h"

namespace tokamak {

/// out[.., n] = sum over k of in[.., k] * weight[n, k] + bias[n]; with a weight of rank 1 (and a bias of rank 0)
/// there is no n. One type for all, unless halves give f32 (`dtype`): then the sums are not rounded to the halves'
/// type. Floating types are accumulated in f32 or wider, integers wrap. The result carries a trailing reduction axis
/// for k.
struct LinearOp {
  static constexpr OpInfo info{
      .name = "linear",
      .stands_alone = true,
      .is_library = true,
      .meaning =
          "x w^T + bias: the weight has a row per feature of the result; dtype=f32 keeps the sums of halves in f32",
      .example_inputs = "x: f32[4, 8], weight: f32[6, 8], bias: f32[6]",
      .example_call = "y = linear(x, weight, bias=bias)"};
  TensorView* out = nullptr;
  TensorView* in = nullptr;
  TensorView* weight = nullptr;
  TensorView* bias = nullptr;
  std::optional<DataType> dtype;  ///< of the result; none: that of the operands

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("out", self.out);
    v.operand("in", self.in);
    v.operand("weight", self.weight);
    v.optional("bias", self.bias);
    v.attribute("dtype", self.dtype);
  }

  void infer(const ShapeRule& rule);
};

}  // namespace tokamak
