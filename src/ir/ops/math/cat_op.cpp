#include "ir/ops/math/cat_op.h"

namespace tokamak {

namespace {

// A broadcast axis that no expand gave a size.
bool isRepeated(const IterDomain& axis) { return axis.isBroadcast() && axis.expandedExtent() == nullptr; }

}  // namespace

void CatOp::infer(const ShapeRule& rule) {
  Fusion& fusion = rule.fusion();
  TK_REQUIRE(!ins.empty(), Definition, "cat: no operands; give at least one tensor");
  axis = rule.normalAxis(axis, *ins[0]);
  std::vector<Axes> shapes;
  Scalar* extent = fusion.constant(0);
  for (const TensorView* in : ins) {
    shapes.push_back(shapeOf(*in));
    TK_REQUIRE(shapes.back().size() == shapes[0].size() && in->dtype() == ins[0]->dtype(), Definition,
               "cat: {} and {} differ in rank or type", toString(*ins[0]), toString(*in));
    extent = fusion.add(extent, shapes.back()[static_cast<size_t>(axis)]->visibleExtent());
  }
  Axes axes;
  for (size_t position = 0; position < shapes[0].size(); ++position) {
    if (static_cast<int64_t>(position) == axis) {
      axes.push_back(rule.sized(extent));
      continue;
    }
    std::vector<IterDomain*> column;
    for (const Axes& shape : shapes) {
      column.push_back(shape[position]);
      TK_REQUIRE(isRepeated(*shape[position]) == isRepeated(*shapes[0][position]), Definition,
                 "cat: axis {} is a broadcast axis of some operands only; expand it first", position);
    }
    axes.push_back(rule.common(column, static_cast<int64_t>(position)));
  }
  out = rule.tensor(ins[0]->dtype(), std::move(axes));
}

}  // namespace tokamak
