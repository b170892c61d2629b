#include "define/reductions.h"

#include <algorithm>
#include <numeric>

#include "define/functions.h"
#include "define/operand.h"
#include "define/shapes.h"
#include "ir/ops/math/reduction_op.h"

namespace tokamak {

namespace {

DataType accumulationType(ReductionKind kind, DataType type) {
  const bool adds = kind == ReductionKind::Sum || kind == ReductionKind::Prod;
  return adds && !isFloatingType(type) ? DataType::I64 : computeType(type);
}

enum class Way : uint8_t { Loop, Squeeze, Repeat };

// Powers by larger counts would not be exact in f32, so those are looped over.
constexpr int64_t kLargestRepeat = int64_t{1} << 24U;

Way wayOf(const IterDomain& axis) {
  if (!axis.isBroadcast()) return Way::Loop;
  if (axis.expandedExtent() == nullptr) return Way::Squeeze;
  const auto size = axis.expandedExtent()->constantInt();
  return size && *size <= kLargestRepeat ? Way::Repeat : Way::Loop;
}

TensorView* identityOf(ReductionKind kind, const TensorView& in, const std::vector<int64_t>& axes) {
  std::vector<Scalar*> shape;
  const Axes all = shapeOf(in);
  for (size_t i = 0; i < all.size(); ++i) {
    if (!std::ranges::binary_search(axes, static_cast<int64_t>(i))) shape.push_back(all[i]->visibleExtent());
  }
  Scalar* value = in.fusion().constant(reductionIdentity(kind, in.dtype()), in.dtype());
  return full(in.fusion(), shape, value, in.dtype());
}

TensorView* repeated(ReductionKind kind, TensorView* value, int64_t count) {
  if (kind == ReductionKind::Sum) return mul(value, count);
  return kind == ReductionKind::Prod ? pow(value, count) : value;
}

// Takes the axes away that need no loop; `axes` keeps the others, renumbered. Gives how often each element counts.
int64_t dropLoopless(TensorView*& value, std::vector<int64_t>& axes) {
  int64_t count = 1;
  std::vector<int64_t> looped;
  std::vector<int64_t> squeezed;
  const Axes shape = shapeOf(*value);
  int64_t taken = 0;
  for (const int64_t axis : axes) {
    const IterDomain& domain = *shape[static_cast<size_t>(axis)];
    Way way = wayOf(domain);
    const int64_t size = way == Way::Repeat ? *domain.expandedExtent()->constantInt() : 1;
    if (size > kLargestRepeat / count) way = Way::Loop;
    const int64_t position = axis - taken;
    if (way == Way::Repeat) {
      value = select(value, position, 0);
      count *= size;
      ++taken;
      continue;
    }
    (way == Way::Loop ? looped : squeezed).push_back(position);
  }
  if (!squeezed.empty()) {
    value = squeeze(value, squeezed);
    for (int64_t& axis : looped) axis -= std::ranges::lower_bound(squeezed, axis) - squeezed.begin();
  }
  axes = looped;
  return count;
}

TensorView* reduceAxes(ReductionKind kind, TensorView* value, std::vector<int64_t> axes) {
  const Axes shape = shapeOf(*value);
  const auto isEmpty = [&](int64_t axis) {
    return shape[static_cast<size_t>(axis)]->visibleExtent()->isConstantInt(0);
  };
  if (std::ranges::any_of(axes, isEmpty)) return identityOf(kind, *value, axes);
  const int64_t count = dropLoopless(value, axes);
  if (!axes.empty()) {
    ReductionOp op{.in = value, .op = kind, .axes = std::move(axes)};
    op.infer(ShapeRule(value->fusion(), enumName(kind)));
    value = op.out;
    value->fusion().appendOp(std::move(op));
  }
  return count == 1 ? value : repeated(kind, value, count);
}

}  // namespace

std::vector<int64_t> reducedAxes(std::string_view op, const TensorView& in, const std::vector<int64_t>& axes) {
  if (!axes.empty()) return ShapeRule(in.fusion(), op).normalAxes(axes, in);
  std::vector<int64_t> all(shapeOf(in).size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TensorView* keepAxes(TensorView* reduced, const std::vector<int64_t>& axes) {
  if (axes.empty()) return reduced;
  std::vector<bool> flags(shapeOf(*reduced).size() + axes.size(), false);
  for (const int64_t axis : axes) flags[static_cast<size_t>(axis)] = true;
  return broadcast(reduced, flags);
}

TensorView* reduce(ReductionKind kind, TensorView* in, const std::vector<int64_t>& axes, ReductionOptions options) {
  requireGiven("reduce", {{"in", in}});
  const std::vector<int64_t> reduced = reducedAxes(enumName(kind), *in, axes);
  const bool is_counted =
      options.dtype == DataType::Bool && (kind == ReductionKind::Sum || kind == ReductionKind::Prod);
  if (is_counted) in = castTo(in, DataType::Bool);  // which any or all are true of
  const DataType type =
      options.dtype && !is_counted ? computeType(*options.dtype) : accumulationType(kind, in->dtype());
  TensorView* out = reduceAxes(kind, castTo(in, type), reduced);
  if (options.keepdim) out = keepAxes(out, reduced);
  if (options.dtype) out = castTo(out, *options.dtype);
  return out == in ? cast(in, in->dtype()) : out;
}

TensorView* sum(TensorView* in, const std::vector<int64_t>& axes, ReductionOptions options) {
  requireGiven("sum", {{"in", in}});
  return reduce(ReductionKind::Sum, in, axes, options);
}
TensorView* prod(TensorView* in, const std::vector<int64_t>& axes, ReductionOptions options) {
  requireGiven("prod", {{"in", in}});
  return reduce(ReductionKind::Prod, in, axes, options);
}
TensorView* max(TensorView* in, const std::vector<int64_t>& axes, ReductionOptions options) {
  requireGiven("max", {{"in", in}});
  return reduce(ReductionKind::Max, in, axes, options);
}
TensorView* min(TensorView* in, const std::vector<int64_t>& axes, ReductionOptions options) {
  requireGiven("min", {{"in", in}});
  return reduce(ReductionKind::Min, in, axes, options);
}

}  // namespace tokamak
