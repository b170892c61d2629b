#include "define/shapes.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "base/require.h"
#include "define/operand.h"
#include "define/promotion.h"
#include "ir/fusion.h"
#include "ir/shape_rule.h"

namespace tokamak {

namespace {

std::vector<Scalar*> sizesOf(Fusion& fusion, std::string_view op, const Operands& shape) {
  std::vector<Scalar*> sizes = scalarsOf(fusion, op, shape);
  for (const Scalar* size : sizes) {
    TK_REQUIRE(isIntegerType(size->dtype()), Definition, "{}: size {} is of type {}; sizes are integers", op,
               toString(*size), dataTypeName(size->dtype()));
    TK_REQUIRE(!size->constantInt() || *size->constantInt() >= 0, Definition, "{}: size {} is negative", op,
               toString(*size));
  }
  return sizes;
}

bool isLeftOpen(const Operand& size) {
  if (!size.isLiteral()) {
    const Scalar* scalar = asScalar(size.val());
    return scalar != nullptr && scalar->isConstantInt(-1);
  }
  const auto* integer = std::get_if<int64_t>(&size.literal());
  return integer != nullptr && *integer == -1;
}

// A position along an axis; negative constants count from the axis's end.
Scalar* positionOf(std::string_view op, const Operand& operand, const IterDomain& axis) {
  Fusion& fusion = axis.fusion();
  Scalar* position = scalarOf(fusion, op, operand);
  const auto constant = position->constantInt();
  return constant && *constant < 0 ? fusion.add(axis.visibleExtent(), position) : position;
}

}  // namespace

TensorView* set(TensorView* in) {
  requireGiven("set", {{"in", in}});
  return define<LoadStoreOp>(in);
}
TensorView* cast(TensorView* in, DataType dtype) {
  requireGiven("cast", {{"in", in}});
  return define<CastOp>(in, dtype);
}
Scalar* cast(Scalar* in, DataType dtype) { return castTo(in, dtype); }
Val* cast(Val* in, DataType dtype) {
  if (TensorView* tensor = asTensor(in)) return cast(tensor, dtype);
  return castTo(in, dtype);
}

TensorView* broadcast(TensorView* in, const std::vector<bool>& flags) {
  requireGiven("broadcast", {{"in", in}});
  return define<BroadcastOp>(in, flags);
}

TensorView* broadcast_in_dim(TensorView* in, const Operands& shape, const std::vector<int64_t>& axes) {
  requireGiven("broadcast_in_dim", {{"in", in}});
  const size_t rank = shapeOf(*in).size();
  std::vector<bool> flags(shape.size(), true);
  TK_REQUIRE(axes.size() == rank, Definition, "broadcast_in_dim: {} axes for {} with {} dimensions", axes.size(),
             toString(*in), rank);
  for (size_t i = 0; i < rank; ++i) {
    TK_REQUIRE(axes[i] >= 0 && axes[i] < static_cast<int64_t>(shape.size()) && (i == 0 || axes[i] > axes[i - 1]),
               Definition, "broadcast_in_dim: axis {} of the result for axis {} of {}; axes must rise within 0 and {}",
               axes[i], i, toString(*in), shape.size());
    flags[static_cast<size_t>(axes[i])] = false;
  }
  return expand(std::ranges::count(flags, true) > 0 ? broadcast(in, flags) : in, shape);
}

TensorView* expand(TensorView* in, const Operands& shape) {
  requireGiven("expand", {{"in", in}});
  const size_t rank = shapeOf(*in).size();
  TK_REQUIRE(shape.size() >= rank, Definition, "expand: {} sizes for {} with {} axes", shape.size(), toString(*in),
             rank);
  const size_t added = shape.size() - rank;
  if (added > 0) {
    std::vector<bool> flags(shape.size(), false);
    std::fill_n(flags.begin(), added, true);
    in = broadcast(in, flags);
  }
  const Axes axes = shapeOf(*in);
  std::vector<Operand> sizes(shape.begin(), shape.end());
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (isLeftOpen(sizes[i])) sizes[i] = axes[i]->visibleExtent();
  }
  std::vector<Scalar*> scalars = scalarsOf(in->fusion(), "expand", sizes);
  return define<ExpandOp>(in, sizesOf(in->fusion(), "expand", scalars));
}

TensorView* squeeze(TensorView* in, const std::vector<int64_t>& axes) {
  requireGiven("squeeze", {{"in", in}});
  std::vector<bool> flags(shapeOf(*in).size(), false);
  for (const int64_t axis : ShapeRule(in->fusion(), "squeeze").normalAxes(axes, *in))
    flags[static_cast<size_t>(axis)] = true;
  return define<SqueezeOp>(in, flags);
}

TensorView* unsqueeze(TensorView* in, int64_t axis) {
  requireGiven("unsqueeze", {{"in", in}});
  const auto rank = static_cast<int64_t>(shapeOf(*in).size()) + 1;
  TK_REQUIRE(axis >= -rank && axis < rank, Definition, "unsqueeze: axis {} is out of bounds for {}; legal are {} to {}",
             axis, toString(*in), -rank, rank - 1);
  std::vector<bool> flags(static_cast<size_t>(rank), false);
  flags[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
  return broadcast(in, flags);
}

TensorView* reshape(TensorView* in, const Operands& shape) {
  requireGiven("reshape", {{"in", in}});
  Fusion& fusion = in->fusion();
  std::vector<Operand> sizes(shape.begin(), shape.end());
  const auto open = std::ranges::find_if(sizes, isLeftOpen);
  if (open != sizes.end()) {
    TK_REQUIRE(std::ranges::count_if(sizes, isLeftOpen) == 1, Definition, "reshape: more than one size of {} is -1",
               toString(*in));
    *open = 1;
    Scalar* rest = fusion.constant(1);
    for (Scalar* size : scalarsOf(fusion, "reshape", sizes)) rest = fusion.mul(rest, size);
    Scalar* all = fusion.constant(1);
    for (const IterDomain* axis : shapeOf(*in)) all = fusion.mul(all, axis->visibleExtent());
    const auto count = all->constantInt();
    const auto divisor = rest->constantInt();
    TK_REQUIRE(!divisor || (*divisor != 0 && (!count || *count % *divisor == 0)), Definition,
               "reshape: no size fits -1 for {}: its {} elements are no multiple of {}", toString(*in), toString(*all),
               toString(*rest));
    *open = fusion.floorDiv(all, rest);
  }
  const std::vector<Scalar*> scalars = scalarsOf(fusion, "reshape", sizes);
  return define<ReshapeOp>(in, sizesOf(fusion, "reshape", scalars));
}

TensorView* permute(TensorView* in, const std::vector<int64_t>& order) {
  requireGiven("permute", {{"in", in}});
  return define<PermuteOp>(in, order);
}

TensorView* transpose(TensorView* in, int64_t a, int64_t b) {
  requireGiven("transpose", {{"in", in}});
  const ShapeRule rule(in->fusion(), "transpose");
  std::vector<int64_t> order(shapeOf(*in).size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<size_t>(rule.normalAxis(a, *in))], order[static_cast<size_t>(rule.normalAxis(b, *in))]);
  return permute(in, order);
}

TensorView* slice(TensorView* in, const Operands& starts, const Operands& stops, const Operands& steps) {
  requireGiven("slice", {{"in", in}});
  const Axes axes = shapeOf(*in);
  TK_REQUIRE(
      starts.size() == axes.size() && stops.size() == axes.size() && (steps.size() == 0 || steps.size() == axes.size()),
      Definition, "slice: {} starts, {} stops and {} steps for {} with {} axes", starts.size(), stops.size(),
      steps.size(), toString(*in), axes.size());
  std::vector<Scalar*> from;
  std::vector<Scalar*> to;
  for (size_t i = 0; i < axes.size(); ++i) {
    from.push_back(positionOf("slice", starts[i], *axes[i]));
    to.push_back(positionOf("slice", stops[i], *axes[i]));
  }
  return define<SliceOp>(in, from, to, scalarsOf(in->fusion(), "slice", steps));
}

TensorView* slice(TensorView* in, int64_t axis, Operand start, Operand stop, Operand step) {
  requireGiven("slice", {{"in", in}});
  Fusion& fusion = in->fusion();
  const auto position = static_cast<size_t>(ShapeRule(fusion, "slice").normalAxis(axis, *in));
  const Axes axes = shapeOf(*in);
  std::vector<Scalar*> starts(axes.size(), fusion.constant(0));
  std::vector<Scalar*> steps(axes.size(), fusion.constant(1));
  std::vector<Scalar*> stops;
  for (const IterDomain* domain : axes) stops.push_back(domain->visibleExtent());
  starts[position] = positionOf("slice", start, *axes[position]);
  stops[position] = positionOf("slice", stop, *axes[position]);
  steps[position] = scalarOf(fusion, "slice", step);
  return define<SliceOp>(in, starts, stops, steps);
}

TensorView* select(TensorView* in, int64_t axis, Operand index) {
  requireGiven("select", {{"in", in}});
  const int64_t position = ShapeRule(in->fusion(), "select").normalAxis(axis, *in);
  return define<SelectOp>(in, position, positionOf("select", index, *shapeOf(*in)[static_cast<size_t>(position)]));
}

TensorView* pad(TensorView* in, const Operands& widths, Operand value) {
  requireGiven("pad", {{"in", in}});
  Scalar* constant = castTo(scalarOf(in->fusion(), "pad", value), in->dtype());
  return define<PadOp>(in, scalarsOf(in->fusion(), "pad", widths), constant);
}

TensorView* cat(const std::vector<TensorView*>& ins, int64_t axis) {
  requireGiven("cat", "ins", ins);
  TK_REQUIRE(!ins.empty(), Definition, "cat: no operands; give at least one tensor");
  const std::vector<Operand> operands(ins.begin(), ins.end());
  const DataType type = promotedType(operands);
  std::vector<TensorView*> promoted;
  for (TensorView* in : ins) promoted.push_back(castTo(in, type));
  // One kernel of very many operands takes compilers too long: they are put together in parts first.
  constexpr size_t kMostOperands = 64;
  constexpr size_t kPart = 32;
  while (promoted.size() > kMostOperands) {
    std::vector<TensorView*> parts;
    for (size_t i = 0; i < promoted.size(); i += kPart) {
      const auto rest = std::span(promoted).subspan(i);
      const auto part = rest.first(std::min(kPart, rest.size()));
      parts.push_back(part.size() == 1 ? part[0] : define<CatOp>(std::vector(part.begin(), part.end()), axis));
    }
    promoted = std::move(parts);
  }
  return define<CatOp>(promoted, axis);
}

TensorView* full(Fusion& fusion, const Operands& shape, Operand value, DataType dtype) {
  return define<FullOp>(fusion, sizesOf(fusion, "full", shape), castTo(scalarOf(fusion, "full", value), dtype), dtype);
}
TensorView* zeros(Fusion& fusion, const Operands& shape, DataType dtype) { return full(fusion, shape, 0, dtype); }
TensorView* ones(Fusion& fusion, const Operands& shape, DataType dtype) { return full(fusion, shape, 1, dtype); }

TensorView* iota(Fusion& fusion, Operand length, Operand start, Operand step, DataType dtype) {
  const auto sized = sizesOf(fusion, "iota", Operands({length}));
  return define<IotaOp>(fusion, sized.front(), castTo(scalarOf(fusion, "iota", start), dtype),
                        castTo(scalarOf(fusion, "iota", step), dtype), dtype);
}

}  // namespace tokamak
