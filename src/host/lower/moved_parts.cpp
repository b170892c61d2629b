#include "host/lower/moved_parts.h"

#include <algorithm>

#include "compute/reshape_groups.h"
#include "ir/ops/math/cat_op.h"
#include "ir/ops/math/pad_op.h"
#include "ir/ops/math/reshape_op.h"
#include "ir/ops/math/slice_op.h"

namespace tokamak {

namespace {

class PartMover {
 public:
  PartMover(Fusion& fusion, const AxisRange& part, const Scalar& chunk)
      : fusion_(fusion), part_(part), chunk_(chunk), number_(static_cast<size_t>(part.axis)) {}

  // A range of the operand, moved by the slice's start.
  std::optional<MovedParts> of(const SliceOp& op) {
    const IterDomain& axis = *shapeOf(*op.in)[number_];
    Scalar* first = op.starts[number_];
    Scalar* last = op.stops[number_];
    Scalar* step = op.steps[number_];
    const bool is_whole = first->isConstantInt(0) && step->isConstantInt(1) && last == axis.visibleExtent();
    if (is_whole || (axis.isBroadcast() && axis.expandedExtent() == nullptr)) return std::nullopt;
    AxisRange range{part_.axis, fusion_.add(first, fusion_.mul(part_.start, step)), part_.extent};
    if (!step->isConstantInt(1)) {
      Scalar* end = fusion_.mul(fusion_.add(part_.start, part_.extent), step);
      range.start = min(range.start, last);
      range.extent = fusion_.sub(min(fusion_.add(first, end), last), range.start);
    }
    std::vector<Scalar*> starts = op.starts;
    starts[number_] = fusion_.constant(0);
    return MovedParts{.operands = {{op.in, {range}}}, .attributes = {{"starts", starts}}};
  }

  // The whole operand with other borders: what lies outside of the part is cut off.
  std::optional<MovedParts> of(const PadOp& op) {
    std::vector<Scalar*> widths = op.widths;
    Scalar*& before = widths[2 * number_];
    Scalar*& after = widths[2 * number_ + 1];
    if (before->isConstantInt(0) && after->isConstantInt(0)) return std::nullopt;
    before = fusion_.sub(before, part_.start);
    const IterDomain& axis = *shapeOf(*op.in)[number_];
    after = fusion_.sub(part_.extent, fusion_.add(before, axis.visibleExtent()));
    return MovedParts{.operands = {}, .attributes = {{"widths", widths}}};
  }

  // What the part has of each operand, if anything.
  std::optional<MovedParts> of(const CatOp& op) {
    if (op.axis != part_.axis) return std::nullopt;
    MovedParts moved;
    Scalar* zero = fusion_.constant(0);
    Scalar* start = part_.start;  // from the operand's first element on
    for (const TensorView* in : op.ins) {
      Scalar* size = shapeOf(*in)[number_]->visibleExtent();
      Scalar* from = min(max(start, zero), size);
      Scalar* to = min(max(fusion_.add(start, part_.extent), zero), size);
      moved.operands[in] = {{part_.axis, from, fusion_.sub(to, from)}};
      start = fusion_.sub(start, size);
    }
    return moved;
  }

  std::optional<MovedParts> of(const ReshapeOp& op) {
    const std::vector<Scalar*> in = extentsOf(*op.in);
    const std::vector<Scalar*> out = extentsOf(*op.out);
    const auto isEmpty = [](const Scalar* extent) { return extent->isConstantInt(0); };
    if (std::ranges::any_of(in, isEmpty)) return std::nullopt;
    for (const ReshapeGroup& group : reshapeGroups(in, out)) {
      if (std::ranges::find(group.out, number_) == group.out.end()) continue;
      // Sizes that are not known to fit are compared by the whole op only.
      const bool is_axis = group.in.size() == 1 && group.out.size() == 1;
      if (!group.is_proved || is_axis || group.out[0] != number_) return std::nullopt;
      auto ranges = outermost(group, in, out);
      if (!ranges && group.out.size() == 1) ranges = merged(group, in);
      if (!ranges) return std::nullopt;
      return MovedParts{.operands = {{op.in, *std::move(ranges)}}, .attributes = {}};
    }
    return std::nullopt;
  }

 private:
  Scalar* min(Scalar* a, Scalar* b) { return fusion_.scalar(ScalarOp::Min, a, b); }
  Scalar* max(Scalar* a, Scalar* b) { return fusion_.scalar(ScalarOp::Max, a, b); }

  static std::vector<Scalar*> extentsOf(const TensorView& tensor) {
    std::vector<Scalar*> extents;
    for (const IterDomain* axis : shapeOf(tensor)) extents.push_back(axis->visibleExtent());
    return extents;
  }

  // How many elements one index of the group's first axis has.
  Scalar* elementsBehind(const std::vector<size_t>& axes, const std::vector<Scalar*>& extents) {
    Scalar* count = fusion_.constant(1);
    for (size_t i = 1; i < axes.size(); ++i) count = fusion_.mul(count, extents[axes[i]]);
    return count;
  }

  static bool isMultiple(const Scalar& a, const Scalar& b) {
    if (b.isConstantInt(1) || &a == &b) return true;
    const auto number = a.constantInt();
    const auto of = b.constantInt();
    return number && of && *of > 0 && *number % *of == 0;
  }

  // An index of the result's outermost axis is whole indices of the operand's outermost one.
  std::optional<std::vector<AxisRange>> outermost(const ReshapeGroup& group, const std::vector<Scalar*>& in,
                                                  const std::vector<Scalar*>& out) {
    Scalar* have = elementsBehind(group.in, in);
    Scalar* want = elementsBehind(group.out, out);
    const auto axis = static_cast<int64_t>(group.in[0]);
    if (isMultiple(*want, *have)) {
      Scalar* ratio = fusion_.floorDiv(want, have);
      return {{{axis, fusion_.mul(part_.start, ratio), fusion_.mul(part_.extent, ratio)}}};
    }
    if (!want->isConstantInt(1) || !isMultiple(chunk_, *have)) return std::nullopt;
    return {{{axis, fusion_.floorDiv(part_.start, have), fusion_.floorDiv(part_.extent, have)}}};
  }

  // A part that does not go beyond one index of the merged axes but the innermost.
  std::optional<std::vector<AxisRange>> merged(const ReshapeGroup& group, const std::vector<Scalar*>& in) {
    if (!isMultiple(*in[group.in.back()], chunk_)) return std::nullopt;
    std::vector<AxisRange> ranges;
    Scalar* position = part_.start;
    Scalar* extent = part_.extent;
    for (size_t i = group.in.size(); i-- > 0;) {
      Scalar* size = in[group.in[i]];
      ranges.push_back({static_cast<int64_t>(group.in[i]), i == 0 ? position : fusion_.mod(position, size), extent});
      position = fusion_.floorDiv(position, size);
      extent = min(fusion_.constant(1), part_.extent);
    }
    return ranges;
  }

  Fusion& fusion_;
  const AxisRange& part_;
  const Scalar& chunk_;
  size_t number_;
};

}  // namespace

std::optional<MovedParts> movedParts(const Expr& expr, const AxisRange& part, const Scalar& chunk) {
  PartMover mover(expr.fusion(), part, chunk);
  if (const auto* slice = expr.as<SliceOp>()) return mover.of(*slice);
  if (const auto* pad = expr.as<PadOp>()) return mover.of(*pad);
  if (const auto* cat = expr.as<CatOp>()) return mover.of(*cat);
  if (const auto* reshape = expr.as<ReshapeOp>()) return mover.of(*reshape);
  return std::nullopt;
}

}  // namespace tokamak
