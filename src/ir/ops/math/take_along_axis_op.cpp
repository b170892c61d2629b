#include "ir/ops/math/take_along_axis_op.h"

namespace tokamak {

void TakeAlongAxisOp::infer(const ShapeRule& rule) {
  const Axes shape = shapeOf(*in);
  const Axes positions = shapeOf(*index);
  TK_REQUIRE(isIntegerType(index->dtype()), Definition, "take_along_axis: positions are i32 or i64, {} is not",
             toString(*index));
  TK_REQUIRE(shape.size() == positions.size(), Definition,
             "take_along_axis: {} and the positions {} differ in rank; they need one axis each for every axis",
             toString(*in), toString(*index));
  axis = rule.normalAxis(axis, *in);
  Axes axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto position = static_cast<int64_t>(i);
    axes.push_back(position == axis ? rule.like(*positions[i]) : rule.common({shape[i], positions[i]}, position));
  }
  out = rule.tensor(in->dtype(), std::move(axes));
}

}  // namespace tokamak
