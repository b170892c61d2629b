#include "analysis/view_layout.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "analysis/bind_shape.h"
#include "base/require.h"
#include "ir/fusion.h"
#include "ir/ops/math/broadcast_op.h"
#include "ir/ops/math/permute_op.h"
#include "ir/ops/math/reshape_op.h"
#include "ir/ops/math/select_op.h"
#include "ir/ops/math/slice_op.h"
#include "ir/ops/math/squeeze_op.h"

namespace tokamak {

namespace {

ViewStride multiplied(Fusion& fusion, const ViewStride& stride, Scalar* by) {
  Scalar* times = fusion.mul(stride.times, by);
  return {.unit = times->isConstantInt(0) ? nullptr : stride.unit, .times = times};
}

// Whether the axis is declared dense with the next one in memory.
bool isDense(const TensorView& tensor, const IterDomain* axis) {
  const TensorDomain& domain = tensor.domain();
  const Axes& stored = domain.allocation.empty() ? domain.logical : domain.allocation;
  const auto found = static_cast<size_t>(std::ranges::find(stored, axis) - stored.begin());
  if (found == stored.size()) return false;
  return found >= domain.contiguity.size() || domain.contiguity[found].value_or(false);
}

// Axes that merge into one.
struct ContiguousRun {
  Scalar* extent = nullptr;
  ViewStride stride;  // of its last axis
  size_t place = 0;   // of its first
};

std::vector<ContiguousRun> runsOf(Fusion& fusion, const ViewLayout& in) {
  std::vector<ContiguousRun> runs;
  for (const ViewAxis& axis : in) {
    if (axis.extent->isConstantInt(1)) continue;
    if (!runs.empty() && runs.back().stride == multiplied(fusion, axis.stride, axis.extent)) {
      runs.back().extent = fusion.mul(runs.back().extent, axis.extent);
      runs.back().stride = axis.stride;
    } else {
      runs.push_back({axis.extent, axis.stride, axis.place});
    }
  }
  return runs;
}

// The number of leading extents with this product; nothing if there is none.
std::optional<size_t> countWithProduct(Fusion& fusion, const std::vector<Scalar*>& extents, const Scalar* product) {
  Scalar* covered = fusion.constant(1);
  for (size_t count = 0; count <= extents.size(); ++count) {
    if (covered == product) return count;
    if (count < extents.size()) covered = fusion.mul(covered, extents[count]);
  }
  return std::nullopt;
}

std::vector<Scalar*> extentsOf(std::span<const ViewAxis> axes) {
  std::vector<Scalar*> extents;
  for (const ViewAxis& axis : axes) extents.push_back(axis.extent);
  return extents;
}

void cut(Fusion& fusion, const ContiguousRun& run, std::span<ViewAxis> axes) {
  ViewStride stride = run.stride;
  for (size_t i = axes.size(); i-- > 0;) {
    axes[i].stride = stride;
    axes[i].place = run.place;
    stride = multiplied(fusion, stride, axes[i].extent);
  }
}

// Splits each run into axes of the result, alternately from the fastest and the slowest end: the last run gets the
// remaining axes.
bool splitRuns(Fusion& fusion, std::span<const ContiguousRun> runs, std::span<ViewAxis> axes) {
  while (runs.size() > 1) {
    std::vector<Scalar*> extents = extentsOf(axes);
    if (const auto count = countWithProduct(fusion, extents, runs.front().extent)) {
      cut(fusion, runs.front(), axes.first(*count));
      axes = axes.subspan(*count);
      runs = runs.subspan(1);
      continue;
    }
    std::ranges::reverse(extents);
    const auto count = countWithProduct(fusion, extents, runs.back().extent);
    if (!count) return false;
    cut(fusion, runs.back(), axes.last(*count));
    axes = axes.first(axes.size() - *count);
    runs = runs.first(runs.size() - 1);
  }
  const ContiguousRun none{.extent = fusion.constant(1), .stride = {.unit = nullptr, .times = fusion.constant(1)}};
  cut(fusion, runs.empty() ? none : runs.front(), axes);
  return true;
}

// Renumbers positions; axes from one run keep their order.
void numberPlaces(ViewLayout& layout) {
  std::vector<size_t> order(layout.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return layout[i].place; });
  for (size_t place = 0; place < order.size(); ++place) layout[order[place]].place = place;
}

std::optional<ViewLayout> reshaped(Fusion& fusion, const ViewLayout& in, ViewLayout result) {
  const auto hasNone = [](const ViewAxis& axis) { return axis.extent->isConstantInt(0); };
  const std::vector<ContiguousRun> runs = runsOf(fusion, in);
  if (std::ranges::none_of(in, hasNone) && !splitRuns(fusion, runs, result)) return std::nullopt;
  numberPlaces(result);
  return result;
}

// The layout of a movement that keeps axes whole: per axis of the result the operand's.
ViewLayout layoutOfMovement(Fusion& fusion, const Expr& step, const ViewLayout& in) {
  ViewLayout result = in;  // slice, expand
  if (const auto* permute = step.as<PermuteOp>()) {
    for (size_t i = 0; i < in.size(); ++i) result[i] = in[static_cast<size_t>(permute->order[i])];
  } else if (const auto* squeeze = step.as<SqueezeOp>()) {
    result.clear();
    for (size_t i = 0; i < in.size(); ++i)
      if (!squeeze->flags[i]) result.push_back(in[i]);
  } else if (const auto* broadcast = step.as<BroadcastOp>()) {
    result.clear();
    size_t next = 0;
    for (const bool is_new : broadcast->flags) result.push_back(is_new ? ViewAxis() : in[next++]);
  } else if (const auto* select = step.as<SelectOp>()) {
    result.erase(result.begin() + select->axis);
  } else if (const auto* slice = step.as<SliceOp>()) {
    for (size_t i = 0; i < in.size(); ++i) result[i].stride = multiplied(fusion, in[i].stride, slice->steps[i]);
  }
  return result;
}

}  // namespace

ViewLayout declaredLayout(const TensorView& tensor) {
  Fusion& fusion = tensor.fusion();
  const Axes shape = shapeOf(tensor);
  const std::vector<size_t> order = memoryOrder(tensor);
  ViewLayout layout(shape.size());
  ViewStride next{.unit = nullptr, .times = fusion.constant(1)};
  for (size_t place = order.size(); place-- > 0;) {
    IterDomain* axis = shape[order[place]];
    ViewAxis& laid = layout[order[place]];
    laid = {.extent = axis->visibleExtent(), .stride = {.unit = nullptr, .times = fusion.constant(0)}, .place = place};
    if (axis->isBroadcast()) continue;
    laid.stride = isDense(tensor, axis) ? next : ViewStride{.unit = axis, .times = fusion.constant(1)};
    next = multiplied(fusion, laid.stride, laid.extent);
  }
  return layout;
}

std::optional<ViewLayout> layoutAfter(const Expr& step, const ViewLayout& in) {
  TK_CHECK(step.info().may_be_view, "{} gives no view", step.name());
  const TensorView& result = *asTensor(step.output(0));
  const Axes shape = shapeOf(result);
  Fusion& fusion = result.fusion();
  const bool is_reshape = step.is<ReshapeOp>();
  ViewLayout layout = is_reshape ? ViewLayout(shape.size()) : layoutOfMovement(fusion, step, in);
  for (size_t i = 0; i < shape.size(); ++i) {
    layout[i].extent = shape[i]->visibleExtent();
    if (shape[i]->isBroadcast() || is_reshape) layout[i].stride = {.unit = nullptr, .times = fusion.constant(0)};
  }
  return is_reshape ? reshaped(fusion, in, std::move(layout)) : std::optional(std::move(layout));
}

bool isAsRequired(const TensorView& tensor, const ViewLayout& layout) {
  const TensorDomain& domain = tensor.domain();
  if (!domain.stride_order && domain.allocation.empty()) return true;
  Fusion& fusion = tensor.fusion();
  const Axes shape = shapeOf(tensor);
  std::vector<size_t> stored = memoryOrder(tensor);
  std::erase_if(stored, [&](size_t i) { return shape[i]->isBroadcast(); });
  const auto isRepeated = [&](size_t i) { return layout[i].stride.times->isConstantInt(0); };
  const auto placeOf = [&](size_t i) { return layout[i].place; };
  if (!std::ranges::is_sorted(stored, {}, placeOf) || std::ranges::any_of(stored, isRepeated)) return false;
  ViewStride dense{.unit = nullptr, .times = fusion.constant(1)};
  for (auto axis = stored.rbegin(); axis != stored.rend() && !domain.allocation.empty(); ++axis) {
    if (layout[*axis].stride != dense) return false;
    dense = multiplied(fusion, dense, layout[*axis].extent);
  }
  return true;
}

}  // namespace tokamak
