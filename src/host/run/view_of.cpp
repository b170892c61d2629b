#include "host/run/view_of.h"

#include <algorithm>

#include "analysis/bind_shape.h"
#include "base/require.h"
#include "compute/shape_constraints.h"
#include "ir/ops/math/broadcast_op.h"
#include "ir/ops/math/permute_op.h"
#include "ir/ops/math/reshape_op.h"
#include "ir/ops/math/select_op.h"
#include "ir/ops/math/slice_op.h"
#include "ir/ops/math/squeeze_op.h"

namespace tokamak {

namespace {

using Strides = std::vector<int64_t>;

bool hasElements(std::span<const int64_t> sizes) { return std::ranges::find(sizes, 0) == sizes.end(); }

// Axes of one stride: each runs on where the next one ends.
struct Run {
  int64_t size = 1;
  int64_t stride = 1;  // of its last axis
};

std::vector<Run> runsOf(const RunTensor& in) {
  std::vector<Run> runs;
  for (size_t i = 0; i < in.sizes.size(); ++i) {
    if (in.sizes[i] == 1) continue;
    if (!runs.empty() && runs.back().stride == in.strides[i] * in.sizes[i])
      runs.back() = {runs.back().size * in.sizes[i], in.strides[i]};
    else
      runs.push_back({in.sizes[i], in.strides[i]});
  }
  return runs;
}

// Each run is cut into axes of the result, from the fastest on.
std::optional<Strides> reshapedStrides(const RunTensor& in, std::span<const int64_t> sizes) {
  Strides strides(sizes.size(), 0);
  std::vector<Run> runs = runsOf(in);
  size_t axis = sizes.size();
  for (; !runs.empty(); runs.pop_back()) {
    int64_t covered = 1;
    while (covered < runs.back().size) {
      if (axis == 0) return std::nullopt;
      --axis;
      strides[axis] = runs.back().stride * covered;
      covered *= sizes[axis];
    }
    if (covered != runs.back().size) return std::nullopt;
  }
  // What is left has one element; its stride does not matter, and is that of a dense tensor.
  int64_t dense = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) strides[i] = i + 1 < sizes.size() ? strides[i + 1] * sizes[i + 1] : dense;
  }
  return strides;
}

struct Place {
  int64_t first = 0;  // element
  Strides strides;
};

Place placeOf(const Expr& expr, const RunTensor& in, const ScalarBindings& scalars) {
  Place place{.first = 0, .strides = in.strides};  // expand
  if (const auto* permute = expr.as<PermuteOp>()) {
    for (size_t i = 0; i < in.strides.size(); ++i)
      place.strides[i] = in.strides[static_cast<size_t>(permute->order[i])];
  } else if (const auto* squeeze = expr.as<SqueezeOp>()) {
    place.strides.clear();
    for (size_t i = 0; i < in.strides.size(); ++i)
      if (!squeeze->flags[i]) place.strides.push_back(in.strides[i]);
  } else if (const auto* broadcast = expr.as<BroadcastOp>()) {
    place.strides.clear();
    size_t next = 0;
    for (const bool is_new : broadcast->flags) place.strides.push_back(is_new ? 0 : in.strides[next++]);
  } else if (const auto* select = expr.as<SelectOp>()) {
    place.first = evaluateInt(*select->index, scalars) * in.strides[static_cast<size_t>(select->axis)];
    place.strides.erase(place.strides.begin() + select->axis);
  } else if (const auto* slice = expr.as<SliceOp>()) {
    for (size_t i = 0; i < in.strides.size(); ++i) {
      place.first += evaluateInt(*slice->starts[i], scalars) * in.strides[i];
      place.strides[i] *= evaluateInt(*slice->steps[i], scalars);
    }
  }
  return place;
}

}  // namespace

std::optional<RunTensor> viewOf(const Expr& expr, const RunTensor& in, const ScalarBindings& scalars) {
  TK_CHECK(expr.info().may_be_view, "{} gives no view", expr.name());
  const Expr* const exprs[] = {&expr};
  requireShapeConstraints(exprs, scalars);
  const TensorView& out = *asTensor(expr.output(0));
  RunTensor view = in;
  view.sizes = sizesOf(out, scalars);
  if (!hasElements(view.sizes)) {
    // Wherever they would begin: that need not be in the memory.
    view.strides = freshStrides(out, view.sizes);
    return view;
  }
  if (expr.is<ReshapeOp>()) {
    std::optional<Strides> strides = reshapedStrides(in, view.sizes);
    if (!strides) return std::nullopt;
    view.strides = *std::move(strides);
    return view;
  }
  const Place place = placeOf(expr, in, scalars);
  view.address = static_cast<std::byte*>(in.address) + place.first * sizeOf(in.dtype);
  view.strides = place.strides;
  // An expanded axis shows its one element again and again.
  const Axes shape = shapeOf(out);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i]->isBroadcast()) view.strides[i] = 0;
  }
  return view;
}

bool isRequiredLayout(const TensorView& tensor, const RunTensor& value) {
  const TensorDomain& domain = tensor.domain();
  if ((!domain.stride_order && domain.allocation.empty()) || !hasElements(value.sizes)) return true;
  const Axes shape = shapeOf(tensor);
  const std::vector<size_t> order = memoryOrder(tensor);
  int64_t least = 1;
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    if (shape[*axis]->isBroadcast() || value.sizes[*axis] == 1) continue;
    const int64_t stride = value.strides[*axis];
    if (stride < least || (stride != least && !domain.allocation.empty())) return false;
    least = stride * value.sizes[*axis];
  }
  return true;
}

}  // namespace tokamak
