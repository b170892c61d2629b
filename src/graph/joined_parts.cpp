#include "graph/joined_parts.h"

#include <algorithm>
#include <concepts>
#include <map>
#include <ranges>

#include "analysis/domain_graph.h"
#include "ir/ops/math/load_store_op.h"
#include "ir/ops/math/reshape_op.h"

namespace tokamak {

namespace {

using Parts = std::vector<TensorView*>;

// The one range that the parts are, if they are ranges of one tensor of which each begins where the one before ends.
std::optional<SliceOp> joinedRange(const Parts& parts, size_t axis) {
  std::optional<SliceOp> whole;
  for (const TensorView* tensor : parts) {
    const auto* part = madeBy<SliceOp>(*tensor);
    if (part == nullptr || !part->steps[axis]->isConstantInt(1)) return std::nullopt;
    if (!whole) {
      whole = *part;
      whole->out = nullptr;
      continue;
    }
    if (part->in != whole->in || part->starts[axis] != whole->stops[axis]) return std::nullopt;
    for (size_t i = 0; i < part->starts.size(); ++i) {
      const bool is_same =
          part->starts[i] == whole->starts[i] && part->stops[i] == whole->stops[i] && part->steps[i] == whole->steps[i];
      if (i != axis && !is_same) return std::nullopt;
    }
    whole->stops[axis] = part->stops[axis];
  }
  return whole;
}

bool areEqualValues(const FieldValue& a, const FieldValue& b) {
  return a.index() == b.index() && std::visit(
                                       [&]<class T>(const T& value) {
                                         if constexpr (std::equality_comparable<T>)
                                           return value == std::get<T>(b);
                                         else
                                           return false;
                                       },
                                       a);
}

// But for the operand; what sizes they have is seen in their results.
bool isSameMovement(const Expr& a, const Expr& b) {
  if (a.kind() != b.kind()) return false;
  const Fields x = fieldsOf(a);
  const Fields y = fieldsOf(b);
  for (size_t i = 0; i < x.size(); ++i) {
    const bool is_tensor = x[i].role == FieldRole::Result || x[i].role == FieldRole::Operand;
    if (!is_tensor && x[i].relation != AxisRelation::Extents && !areEqualValues(x[i].value, y[i].value)) return false;
  }
  return true;
}

bool haveSameSizesBut(size_t axis, const TensorView& a, const TensorView& b) {
  const Axes x = shapeOf(a);
  const Axes y = shapeOf(b);
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (i != axis && x[i]->visibleExtent() != y[i]->visibleExtent()) return false;
  }
  return true;
}

// What the part is a copy of, if it is one; also a part that is given as an output holds just that.
TensorView* copied(TensorView* part) {
  for (const auto* set = madeBy<LoadStoreOp>(*part); set != nullptr; set = madeBy<LoadStoreOp>(*part)) {
    if (!isUnmarked(*part) || set->in->memoryKind() != part->memoryKind()) break;
    part = set->in;
  }
  return part;
}

Scalar* elementsBefore(const TensorView& tensor, size_t axis) {
  Fusion& fusion = tensor.fusion();
  Scalar* elements = fusion.constant(1);
  const Axes shape = shapeOf(tensor);
  for (size_t i = 0; i < axis; ++i) elements = fusion.mul(elements, shape[i]->visibleExtent());
  return elements;
}

// The operand's axes along which results that follow one another along `axis` come from operands that do.
std::vector<size_t> operandAxes(const Expr& step, size_t axis) {
  std::vector<size_t> axes;
  if (const auto* reshape = step.as<ReshapeOp>()) {
    const Scalar* before = elementsBefore(*reshape->out, axis);
    for (size_t i = 0; i < shapeOf(*reshape->in).size(); ++i) {
      if (elementsBefore(*reshape->in, i) == before) axes.push_back(i);
    }
    return axes;
  }
  const auto along = operandAxesAlong(step, static_cast<int64_t>(axis));
  if (along[0].size() == 1 && along[0][0].is_alone && along[0][0].is_whole)
    axes.push_back(static_cast<size_t>(along[0][0].axis));
  return axes;
}

Scalar* extentOf(const Parts& parts, size_t axis) {
  Scalar* extent = shapeOf(*parts[0])[axis]->visibleExtent();
  for (size_t i = 1; i < parts.size(); ++i)
    extent = parts[i]->fusion().add(extent, shapeOf(*parts[i])[axis]->visibleExtent());
  return extent;
}

// Per axis of the operands along which they follow one another: the step along the results' axis.
using Steps = std::map<size_t, JoinedParts::Step>;

// The same movement that gives each of the parts, where it does the same to what they are together along an axis.
Steps sameMovements(const Parts& parts, size_t axis) {
  const Expr* first = parts[0]->definition();
  std::map<size_t, size_t> counts;
  for (const TensorView* part : parts) {
    const Expr* step = part->definition();
    if (!isMovement(step) || !isUnmarked(*part)) return {};
    if (asTensor(step->inputs()[0])->memoryKind() != part->memoryKind()) return {};
    if (!isSameMovement(*step, *first) || !haveSameSizesBut(axis, *part, *parts[0])) return {};
    for (const size_t operand_axis : operandAxes(*step, axis)) ++counts[operand_axis];
  }
  Steps steps;
  for (const auto& [operand_axis, count] : counts) {
    if (count != parts.size()) continue;
    steps[operand_axis] = {first, {.result = axis, .operand = operand_axis, .extent = extentOf(parts, axis)}};
  }
  return steps;
}

}  // namespace

std::optional<JoinedParts> joinParts(std::span<TensorView* const> parts, size_t axis) {
  Parts level(parts.begin(), parts.end());
  std::vector<size_t> axes = {axis};
  std::vector<Steps> passed;  // from the last movement back
  while (!axes.empty()) {
    std::ranges::transform(level, level.begin(), copied);
    Steps steps;
    for (size_t along : axes) {
      if (auto range = joinedRange(level, along)) {
        JoinedParts joined{.range = *std::move(range), .steps = {}};
        for (const Steps& step : passed | std::views::reverse) {
          const JoinedParts::Step& passing = step.at(along);
          joined.steps.push_back(passing);
          along = passing.axis.result;
        }
        return joined;
      }
      steps.merge(sameMovements(level, along));
    }
    axes.clear();
    for (const auto& [operand_axis, step] : steps) axes.push_back(operand_axis);
    for (TensorView*& part : level)
      if (!axes.empty()) part = asTensor(part->definition()->inputs()[0]);
    passed.push_back(std::move(steps));
  }
  return std::nullopt;
}

}  // namespace tokamak
