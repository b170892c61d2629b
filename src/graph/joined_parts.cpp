#include "graph/joined_parts.h"

#include <algorithm>
#include <concepts>
#include <map>
#include <ranges>

#include "analysis/domain_graph.h"
#include "ir/ops/math/broadcast_op.h"
#include "ir/ops/math/cast_op.h"
#include "ir/ops/math/load_store_op.h"
#include "ir/ops/math/reshape_op.h"
#include "ir/ops/math/select_op.h"

namespace tokamak {

namespace {

using Parts = std::vector<TensorView*>;

// The operand, if the tensor is a copy (it may be an output).
TensorView* copied(TensorView* tensor) {
  for (const auto* set = madeBy<LoadStoreOp>(*tensor); set != nullptr; set = madeBy<LoadStoreOp>(*tensor)) {
    if (!isUnmarked(*tensor) || set->in->memoryKind() != tensor->memoryKind()) break;
    tensor = set->in;
  }
  return tensor;
}

SliceOp wholeOf(TensorView& tensor) {
  Fusion& fusion = tensor.fusion();
  SliceOp range{.in = &tensor, .starts = {}, .stops = {}, .steps = {}};
  for (const IterDomain* axis : shapeOf(tensor)) {
    range.starts.push_back(fusion.constant(0));
    range.stops.push_back(axis->visibleExtent());
    range.steps.push_back(fusion.constant(1));
  }
  return range;
}

// The part as a range. A single position of an axis with a new axis for it is a range, too.
std::optional<SliceOp> rangeOf(const TensorView& part) {
  if (const auto* slice = madeBy<SliceOp>(part)) {
    SliceOp range = *slice;
    range.out = nullptr;
    return range;
  }
  const auto* added = madeBy<BroadcastOp>(part);
  const auto* select = added == nullptr || !isUnmarked(part) ? nullptr : madeBy<SelectOp>(*copied(added->in));
  if (select == nullptr || select->in->memoryKind() != part.memoryKind()) return std::nullopt;
  const auto axis = static_cast<size_t>(select->axis);
  if (!added->flags[axis] || std::ranges::count(added->flags, true) != 1) return std::nullopt;
  SliceOp range = wholeOf(*select->in);
  range.starts[axis] = select->index;
  range.stops[axis] = part.fusion().add(select->index, part.fusion().constant(1));
  return range;
}

// Makes ranges of copies of one tensor ranges of that tensor. False if they are of several tensors.
bool readOneTensor(std::vector<SliceOp>& ranges) {
  const auto isSame = [&](const SliceOp& range) { return range.in == ranges[0].in; };
  if (std::ranges::all_of(ranges, isSame)) return true;
  for (SliceOp& range : ranges) range.in = copied(range.in);
  return std::ranges::all_of(ranges, isSame);
}

// The range of all parts together, if they are adjacent ranges of one tensor.
std::optional<SliceOp> joinedRange(const Parts& parts, size_t axis) {
  std::vector<SliceOp> ranges;
  for (const TensorView* tensor : parts) {
    std::optional<SliceOp> part = rangeOf(*tensor);
    if (!part || !part->steps[axis]->isConstantInt(1)) return std::nullopt;
    ranges.push_back(*std::move(part));
  }
  if (!readOneTensor(ranges)) return std::nullopt;
  SliceOp whole = ranges[0];
  for (const SliceOp& part : std::span(ranges).subspan(1)) {
    if (part.starts[axis] != whole.stops[axis]) return std::nullopt;
    for (size_t i = 0; i < part.starts.size(); ++i) {
      const bool is_same =
          part.starts[i] == whole.starts[i] && part.stops[i] == whole.stops[i] && part.steps[i] == whole.steps[i];
      if (i != axis && !is_same) return std::nullopt;
    }
    whole.stops[axis] = part.stops[axis];
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

// Whether the ops are equal but for the operand. (Their results show the sizes.)
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

Scalar* elementsBefore(const TensorView& tensor, size_t axis) {
  Fusion& fusion = tensor.fusion();
  Scalar* elements = fusion.constant(1);
  const Axes shape = shapeOf(tensor);
  for (size_t i = 0; i < axis; ++i) elements = fusion.mul(elements, shape[i]->visibleExtent());
  return elements;
}

// The operand's axes along which operands are adjacent if the results are along `axis`.
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

// Operands' axis of adjacency -> the step with the results' axis.
using Steps = std::map<size_t, JoinedParts::Step>;

// Whether the step moves or casts elements.
bool keepsElements(const Expr* step) { return isMovement(step) || (step != nullptr && step->is<CastOp>()); }

// The common last step of all parts, if it applies to the joined tensor in the same way.
Steps sameMovements(const Parts& parts, size_t axis) {
  const Expr* first = parts[0]->definition();
  std::map<size_t, size_t> counts;
  for (const TensorView* part : parts) {
    const Expr* step = part->definition();
    if (!keepsElements(step) || !isUnmarked(*part)) return {};
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
  std::vector<Steps> chain;  // from the last movement back
  while (!axes.empty()) {
    std::ranges::transform(level, level.begin(), copied);
    Steps steps;
    for (size_t along : axes) {
      if (auto range = joinedRange(level, along)) {
        JoinedParts joined{.range = *std::move(range), .steps = {}};
        for (const Steps& step : chain | std::views::reverse) {
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
    chain.push_back(std::move(steps));
  }
  return std::nullopt;
}

namespace {

// A single position of an axis, with a new axis.
struct Stacked {
  const SelectOp* select = nullptr;
  std::vector<const Expr*> casts;  // of the selected position, last one first
  const BroadcastOp* added = nullptr;
};

std::optional<Stacked> stackedPart(TensorView* part) {
  Stacked stacked{.added = madeBy<BroadcastOp>(*part)};
  if (stacked.added == nullptr || !isUnmarked(*part)) return std::nullopt;
  TensorView* value = copied(stacked.added->in);
  for (const auto* cast = madeBy<CastOp>(*value); cast != nullptr; cast = madeBy<CastOp>(*value)) {
    if (!isUnmarked(*value) || cast->in->memoryKind() != value->memoryKind()) return std::nullopt;
    stacked.casts.push_back(value->definition());
    value = copied(cast->in);
  }
  stacked.select = madeBy<SelectOp>(*value);
  const bool is_plain = stacked.select != nullptr && isUnmarked(*value) &&
                        stacked.select->in->memoryKind() == value->memoryKind() &&
                        value->memoryKind() == part->memoryKind();
  return is_plain ? std::optional(std::move(stacked)) : std::nullopt;
}

bool isStackedAlike(const Stacked& a, const Stacked& b) {
  return a.added->flags == b.added->flags && a.select->axis == b.select->axis &&
         std::ranges::equal(a.casts, b.casts, [](const Expr* x, const Expr* y) { return isSameMovement(*x, *y); });
}

// The common distance of the positions.
std::optional<int64_t> distanceOf(const std::vector<Stacked>& parts) {
  Fusion& fusion = parts[0].select->in->fusion();
  std::optional<int64_t> distance;
  for (size_t i = 1; i < parts.size(); ++i) {
    const auto step = fusion.sub(parts[i].select->index, parts[i - 1].select->index)->constantInt();
    if (!step || *step < 1 || (distance && *distance != *step)) return std::nullopt;
    distance = step;
  }
  return distance;
}

}  // namespace

std::optional<StackedParts> stackedParts(std::span<TensorView* const> parts, size_t axis) {
  std::vector<Stacked> stacked;
  std::vector<SliceOp> sources;
  for (TensorView* part : parts) {
    auto each = stackedPart(copied(part));
    if (!each || !each->added->flags[axis] || !isStackedAlike(*each, stacked.empty() ? *each : stacked[0]))
      return std::nullopt;
    sources.push_back({.in = each->select->in});
    stacked.push_back(*std::move(each));
  }
  const auto distance = distanceOf(stacked);
  if (!distance || !readOneTensor(sources)) return std::nullopt;
  const Stacked& first = stacked[0];
  Fusion& fusion = sources[0].in->fusion();
  const auto from = static_cast<size_t>(first.select->axis);
  StackedParts result{.range = wholeOf(*sources[0].in), .order = {}, .casts = {}, .flags = first.added->flags};
  result.range.starts[from] = first.select->index;
  result.range.stops[from] = fusion.add(stacked.back().select->index, fusion.constant(1));
  result.range.steps[from] = fusion.constant(*distance);
  result.flags[axis] = false;
  // Moves the selected axis to the new one's position, among axes that are not new.
  const auto end = result.flags.begin() + static_cast<std::ptrdiff_t>(axis);
  const auto place = std::count(result.flags.begin(), end, false);
  for (size_t i = 0; i < result.range.starts.size(); ++i) {
    if (i != from) result.order.push_back(static_cast<int64_t>(i));
  }
  result.order.insert(result.order.begin() + place, static_cast<int64_t>(from));
  result.casts.assign(first.casts.rbegin(), first.casts.rend());
  return result;
}

}  // namespace tokamak
