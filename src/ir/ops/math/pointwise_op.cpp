#include "ir/ops/math/pointwise_op.h"

namespace tokamak {

void PointwiseOp::infer(const ShapeRule& rule) {
  const FunctionInfo& function_info = functionInfo(function);
  TK_REQUIRE(static_cast<int>(ins.size()) == function_info.arity, Definition, "{}: takes {} operands, got {}",
             function_info.name, function_info.arity, ins.size());
  std::vector<TensorView*> tensors = tensorsOf(ins);
  TK_REQUIRE(!tensors.empty(), Definition, "{}: at least one operand must be a tensor", function_info.name);
  std::vector<Axes> shapes;
  for (const TensorView* tensor : tensors) shapes.push_back(shapeOf(*tensor));
  for (size_t i = 1; i < shapes.size(); ++i) {
    TK_REQUIRE(shapes[i].size() == shapes[0].size(), Definition, "{}: {} and {} have different ranks; broadcast one",
               function_info.name, toString(*tensors[0]), toString(*tensors[i]));
  }
  Axes axes;
  for (size_t position = 0; position < shapes[0].size(); ++position) {
    std::vector<IterDomain*> column;
    for (const Axes& shape : shapes) column.push_back(shape[position]);
    axes.push_back(rule.common(column, static_cast<int64_t>(position)));
  }
  const auto types = functionTypes(function, ins.back()->dtype());
  TK_REQUIRE(types.has_value(), Definition, "{}: not defined on operands of type {}", function_info.name,
             dataTypeName(ins.back()->dtype()));
  out = rule.tensor(types->result, std::move(axes));
}

}  // namespace tokamak
