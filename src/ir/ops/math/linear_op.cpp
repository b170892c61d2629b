#include "ir/ops/math/linear_op.h"

namespace tokamak {

void LinearOp::infer(const ShapeRule& rule) {
  const Axes shape = shapeOf(*in);
  const Axes matrix = shapeOf(*weight);
  TK_REQUIRE(!shape.empty() && (matrix.size() == 2 || matrix.size() == 1), Definition,
             "linear: needs an operand with at least one axis and a weight with one or two, got {} and {}",
             toString(*in), toString(*weight));
  TK_REQUIRE(in->dtype() == weight->dtype() && (bias == nullptr || bias->dtype() == in->dtype()) &&
                 in->dtype() != DataType::Bool,
             Definition, "linear: operands must have one type other than bool, got {} and {}", toString(*in),
             toString(*weight));
  const auto k = shape.back()->visibleExtent()->constantInt();
  const auto weight_k = matrix.back()->visibleExtent()->constantInt();
  TK_REQUIRE(!k || !weight_k || *k == *weight_k, Definition, "linear: the inner sizes of {} and {} differ: {} and {}",
             toString(*in), toString(*weight), *k, *weight_k);
  IterDomain* column = matrix.size() == 2 ? matrix[0] : nullptr;
  if (bias != nullptr) {
    const Axes bias_shape = shapeOf(*bias);
    TK_REQUIRE(bias_shape.size() + 1 == matrix.size(), Definition, "linear: the bias must have {} axes, got {}",
               matrix.size() - 1, toString(*bias));
    if (!bias_shape.empty()) {
      column = rule.common({matrix[0], bias_shape[0]}, static_cast<int64_t>(shape.size()) - 1);
    }
  }
  Axes axes;
  for (size_t i = 0; i + 1 < shape.size(); ++i) axes.push_back(rule.like(*shape[i]));
  if (column != nullptr) axes.push_back(rule.like(*column));
  axes.push_back(rule.reduction(k || !weight_k ? *shape.back() : *matrix.back()));
  out = rule.tensor(rule.productType(*in, dtype), std::move(axes));
}

}  // namespace tokamak
