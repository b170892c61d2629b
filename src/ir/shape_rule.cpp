#include "ir/shape_rule.h"

#include <algorithm>

#include <fmt/format.h>

namespace tokamak {

namespace {

void requireSize(std::string_view op, const Scalar& extent) {
  const auto size = extent.constantInt();
  TK_REQUIRE(isIntegerType(extent.dtype()) && (!size || *size >= 0), Definition,
             "{}: {} (of type {}) is no size; sizes are integers that are not negative", op, toString(extent),
             dataTypeName(extent.dtype()));
}

}  // namespace

IterDomain* ShapeRule::iteration(Scalar* extent, bool is_rfactor) const {
  requireSize(op_, *extent);
  return fusion_->axis({.kind = IterKind::Iteration, .extent = extent, .is_rfactor = is_rfactor});
}

IterDomain* ShapeRule::reduction(const IterDomain& axis) const {
  return fusion_->axis({.kind = IterKind::Reduction, .extent = axis.visibleExtent()});
}

IterDomain* ShapeRule::broadcast(Scalar* expanded_extent) const {
  if (expanded_extent != nullptr) requireSize(op_, *expanded_extent);
  return fusion_->axis({.kind = IterKind::Broadcast, .expanded_extent = expanded_extent});
}

IterDomain* ShapeRule::sized(Scalar* extent) const {
  return extent->isConstantInt(1) ? broadcast() : iteration(extent);
}

IterDomain* ShapeRule::common(const std::vector<IterDomain*>& axes, int64_t position) const {
  const IterDomain* best = nullptr;
  const auto isSized = [](const IterDomain* axis) { return !axis->isBroadcast() || axis->expandedExtent() != nullptr; };
  for (const IterDomain* axis : axes) {
    if (!isSized(axis)) continue;
    if (best == nullptr) {
      best = axis;
      continue;
    }
    const auto a = best->visibleExtent()->constantInt();
    const auto b = axis->visibleExtent()->constantInt();
    TK_REQUIRE(!a || !b || *a == *b, Definition,
               "{}: the operands' sizes along axis {} are {} and {}; they must be equal, or one a broadcast axis", op_,
               position, toString(*best->visibleExtent()), toString(*axis->visibleExtent()));
    const bool is_one_kind = best->isBroadcast() == axis->isBroadcast();
    const bool prefers_axis = is_one_kind ? !a && b : best->isBroadcast();
    if (prefers_axis) best = axis;
  }
  if (best == nullptr) return like(*axes.front());
  return best->isBroadcast() ? like(*best) : iteration(best->extent());
}

int64_t ShapeRule::normalAxis(int64_t axis, const TensorView& in) const {
  const auto rank = static_cast<int64_t>(shapeOf(in).size());
  TK_REQUIRE(axis >= -rank && axis < rank, Definition, "{}: axis {} is out of bounds for tensor {} with {} dimensions",
             op_, axis, toString(in), rank);
  return axis < 0 ? axis + rank : axis;
}

std::vector<int64_t> ShapeRule::normalAxes(const std::vector<int64_t>& axes, const TensorView& in) const {
  std::vector<int64_t> normal;
  for (const int64_t axis : axes) normal.push_back(normalAxis(axis, in));
  std::ranges::sort(normal);
  const auto twice = std::ranges::adjacent_find(normal);
  TK_REQUIRE(twice == normal.end(), Definition, "{}: axis {} of tensor {} is named twice", op_, *twice, toString(in));
  return normal;
}

DataType ShapeRule::productType(const TensorView& in, std::optional<DataType>& asked) const {
  const DataType own = in.dtype();
  if (asked == own) asked.reset();
  if (!asked) return own;
  TK_REQUIRE(isHalfType(own) && *asked == DataType::F32, Definition, "{}: products of {} cannot give {}; they give {}",
             op_, dataTypeName(own), dataTypeName(*asked),
             isHalfType(own) ? fmt::format("{} or f32", dataTypeName(own)) : std::string(dataTypeName(own)));
  return *asked;
}

}  // namespace tokamak
