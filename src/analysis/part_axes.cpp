#include "analysis/part_axes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analysis/domain_graph.h"
#include "compute/reshape_groups.h"
#include "ir/fields.h"
#include "ir/ops/math/reshape_op.h"
#include "symbolic/scalar_simplifier.h"

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

std::vector<Scalar*> visibleExtentsOf(const TensorView& tensor) {
  std::vector<Scalar*> extents;
  for (const IterDomain* axis : shapeOf(tensor)) extents.push_back(simplify(axis->visibleExtent()));
  return extents;
}

}  // namespace

bool hasMovableOrigin(const Expr& op) {
  const Fields fields = fieldsOf(op);
  return std::ranges::any_of(fields, [](const Field& field) { return field.relation == AxisRelation::Origin; });
}

PartAxes::PartAxes(const Expr& op) : map_(op), axes_(map_.rule().coordinates.size()) {
  for (size_t i = 0; i < axes_.size(); ++i) {
    const auto axis = static_cast<int64_t>(i);
    axes_[i].needs_positions = map_.dependsOnPosition(axis) && !hasMovableOrigin(op);
    for (const TensorView* operand : differentOperands(op)) {
      const OperandCoordinateUse use = map_.use(*operand, axis);
      if (use.use == CoordinateUse::Identity)
        axes_[i].pairs.push_back({.operand = operand, .operand_axis = use.axes[0], .result_axis = axis});
      if (use.use == CoordinateUse::Other) axes_[i].otherwise.push_back(operand);
    }
  }
  addExpanded(op);
  if (op.is<ReshapeOp>()) addReshape(op);
}

bool PartAxes::isLocalAlong(int64_t result_axis) const {
  const Axis& axis = at(result_axis);
  return axis.otherwise.empty() && !axis.needs_positions && std::ranges::all_of(axis.pairs, &PartAxisPair::is_proved);
}

// Expanded axes repeat one element, so that the rule does not tell them; but both sides have to show the same part: an
// axis of another extent, as behind a slice, or that goes along two of the result has none.
void PartAxes::addExpanded(const Expr& op) {
  const auto hasExpanded = [](const TensorView* operand) { return std::ranges::any_of(shapeOf(*operand), isExpanded); };
  if (std::ranges::none_of(tensorsOf(op.inputs()), hasExpanded)) return;
  const TensorView& result = *map_.rule().result;
  std::map<std::pair<const TensorView*, int64_t>, std::set<size_t>> goes_along;
  std::set<std::pair<const TensorView*, int64_t>> others;
  for (size_t i = 0; i < axes_.size(); ++i) {
    const std::vector<std::vector<OperandAxis>> along = operandAxesAlong(op, static_cast<int64_t>(i));
    const Scalar* extent = simplify(shapeOf(result)[i]->visibleExtent());
    for (size_t input = 0; input < along.size(); ++input) {
      const TensorView* operand = asTensor(op.input(input));
      for (const OperandAxis& other : along[input]) {
        const IterDomain* axis = shapeOf(*operand)[static_cast<size_t>(other.axis)];
        if (!isExpanded(axis)) continue;
        goes_along[{operand, other.axis}].insert(i);
        if (!other.is_whole && simplify(axis->visibleExtent()) != extent) others.insert({operand, other.axis});
      }
    }
  }
  for (const auto& [read, results] : goes_along) {
    const auto& [operand, operand_axis] = read;
    const bool is_pair = results.size() == 1 && !others.contains(read);
    for (const size_t i : results) {
      if (is_pair)
        axes_[i].pairs.push_back(
            {.operand = operand, .operand_axis = operand_axis, .result_axis = static_cast<int64_t>(i)});
      else
        axes_[i].otherwise.push_back(operand);
    }
  }
}

// The outermost axis that a reshape merges or splits axes to.
void PartAxes::addReshape(const Expr& op) {
  Fusion& fusion = op.fusion();
  const auto* operand = asTensor(op.input(0));
  // How many elements one index of the first of these axes has.
  const auto elementsBehind = [&](const std::vector<size_t>& axes, const std::vector<Scalar*>& extents) {
    Scalar* count = fusion.constant(1);
    for (size_t i = 1; i < axes.size(); ++i) count = fusion.mul(count, extents[axes[i]]);
    return simplify(count);
  };
  const std::vector<Scalar*> from = visibleExtentsOf(*operand);
  const std::vector<Scalar*> to = visibleExtentsOf(*asTensor(op.output(0)));
  for (const ReshapeGroup& group : reshapeGroups(from, to)) {
    if (group.in.empty() || group.out.empty()) continue;
    // (Where one axis becomes one axis, the rule tells it.)
    Axis& axis = axes_[group.out[0]];
    if (axis.otherwise.empty()) continue;
    axis.otherwise.clear();
    axis.pairs = {{.operand = operand,
                   .operand_axis = static_cast<int64_t>(group.in[0]),
                   .result_axis = static_cast<int64_t>(group.out[0]),
                   .operand_elements = elementsBehind(group.in, from),
                   .result_elements = elementsBehind(group.out, to),
                   .is_proved = group.is_proved}};
  }
}

}  // namespace tokamak
