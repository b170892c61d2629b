#include "analysis/part_axes.h"

#include <algorithm>

#include "analysis/domain_graph.h"
#include "compute/axis_map.h"
#include "compute/reshape_groups.h"
#include "ir/fields.h"
#include "ir/ops/math/reshape_op.h"

namespace tokamak {

namespace {

bool isExpanded(const IterDomain* axis) { return axis->expandedExtent() != nullptr; }

std::vector<const TensorView*> differentOperands(const Expr& op) {
  std::vector<const TensorView*> operands;
  for (const TensorView* operand : tensorsOf(op.inputs())) {
    if (std::ranges::find(operands, operand) == operands.end()) operands.push_back(operand);
  }
  return operands;
}

// Expanded axes repeat one element, so that the rule does not tell them; but both sides have to show the same part.
void addExpandedPairs(const Expr& op, int64_t axis, std::vector<PartAxisPair>& pairs) {
  const std::vector<std::vector<OperandAxis>> along = operandAxesAlong(op, axis);
  for (size_t i = 0; i < along.size(); ++i) {
    const TensorView* operand = asTensor(op.input(i));
    for (const OperandAxis& other : along[i]) {
      if (other.is_whole && isExpanded(shapeOf(*operand)[static_cast<size_t>(other.axis)]))
        pairs.push_back({.operand = operand, .operand_axis = other.axis, .result_axis = axis});
    }
  }
}

}  // namespace

bool hasMovableOrigin(const Expr& op) {
  const Fields fields = fieldsOf(op);
  return std::ranges::any_of(fields, [](const Field& field) { return field.relation == AxisRelation::Origin; });
}

PartAxes::PartAxes(const Expr& op) {
  const AxisMap map(op);
  const std::vector<const TensorView*> operands = differentOperands(op);
  const bool has_expanded = std::ranges::any_of(
      operands, [](const TensorView* operand) { return std::ranges::any_of(shapeOf(*operand), isExpanded); });
  is_local_.resize(map.rule().coordinates.size());
  for (size_t i = 0; i < is_local_.size(); ++i) {
    const auto axis = static_cast<int64_t>(i);
    is_local_[i] = map.isIndependentAlong(axis) && (!map.dependsOnPosition(axis) || hasMovableOrigin(op));
    if (!is_local_[i]) continue;
    for (const TensorView* operand : operands) {
      const OperandCoordinateUse use = map.use(*operand, axis);
      if (use.use == CoordinateUse::Identity)
        pairs_.push_back({.operand = operand, .operand_axis = use.axes[0], .result_axis = axis});
    }
    if (has_expanded) addExpandedPairs(op, axis, pairs_);
  }
  if (op.is<ReshapeOp>()) addReshape(op);
}

void PartAxes::addReshape(const Expr& op) {
  Fusion& fusion = op.fusion();
  const auto* operand = asTensor(op.input(0));
  const auto extentsOf = [](const TensorView& tensor) {
    std::vector<Scalar*> extents;
    for (const IterDomain* axis : shapeOf(tensor)) extents.push_back(axis->visibleExtent());
    return extents;
  };
  // How many elements one index of the first of these axes has.
  const auto elementsBehind = [&](const std::vector<size_t>& axes, const std::vector<Scalar*>& extents) {
    Scalar* count = fusion.constant(1);
    for (size_t i = 1; i < axes.size(); ++i) count = fusion.mul(count, extents[axes[i]]);
    return count;
  };
  const std::vector<Scalar*> from = extentsOf(*operand);
  const std::vector<Scalar*> to = extentsOf(*asTensor(op.output(0)));
  for (const ReshapeGroup& group : reshapeGroups(from, to)) {
    // (Where one axis becomes one axis, the rule tells it.)
    if (!group.is_proved || group.in.empty() || group.out.empty() || is_local_[group.out[0]]) continue;
    is_local_[group.out[0]] = true;
    pairs_.push_back({.operand = operand,
                      .operand_axis = static_cast<int64_t>(group.in[0]),
                      .result_axis = static_cast<int64_t>(group.out[0]),
                      .operand_elements = elementsBehind(group.in, from),
                      .result_elements = elementsBehind(group.out, to)});
  }
}

}  // namespace tokamak
