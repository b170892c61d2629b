#include "graph/fold_ranges.h"

#include <algorithm>

#include "graph/fold_casts.h"
#include "graph/fold_movement.h"
#include "graph/joined_parts.h"
#include "graph/movement.h"
#include "graph/remove_dead.h"
#include "graph/replacement.h"
#include "graph/rewriter.h"
#include "ir/equal.h"
#include "ir/ops/math/broadcast_op.h"
#include "ir/ops/math/cat_op.h"
#include "ir/ops/math/pad_op.h"
#include "ir/ops/math/permute_op.h"
#include "ir/ops/math/slice_op.h"

namespace tokamak {

namespace {

using Scalars = std::vector<Scalar*>;

bool isNonNegative(const Scalar& scalar) { return scalar.constantInt().value_or(-1) >= 0; }

// Whether a <= b without analysis: the same expression, a = 0, or constants.
bool isPlainlyLessOrEqual(const Scalar& a, const Scalar& b) {
  const auto x = a.constantInt();
  const auto y = b.constantInt();
  return &a == &b || (x && *x == 0) || (x && y && *x <= *y);
}

bool isWhole(const SliceOp& op) {
  const Axes shape = shapeOf(*op.in);
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool is_all = op.starts[i]->isConstantInt(0) && op.steps[i]->isConstantInt(1);
    if (!is_all || op.stops[i] != shape[i]->visibleExtent()) return false;
  }
  return true;
}

class RangeFolder {
 public:
  RangeFolder(const Fusion& source, const Expr& expr, Cloner& cloner)
      : source_(source), expr_(expr), cloner_(cloner), target_(cloner.target()) {}

  bool fold() {
    if (const auto* op = expr_.as<SliceOp>()) return slice(*op);
    if (const auto* op = expr_.as<PadOp>()) return pad(*op);
    if (const auto* op = expr_.as<CatOp>()) return cat(*op);
    return false;
  }

 private:
  Scalars clones(const Scalars& scalars) {
    Scalars copies;
    for (Scalar* scalar : scalars) copies.push_back(cloner_.clone(scalar));
    return copies;
  }
  // Replaces the expression unless types would change.
  bool put(SliceOp op) {
    if (isWhole(op) && readInstead(source_, expr_, cloner_, op.in)) return true;
    return putInPlace(source_, expr_, cloner_, std::move(op));
  }

  bool slice(const SliceOp& op) {
    TensorView* in = cloner_.clone(op.in);
    SliceOp range{.in = in, .starts = clones(op.starts), .stops = clones(op.stops), .steps = clones(op.steps)};
    if (const auto* before = madeBy<SliceOp>(*in)) return sliceOfSlice(*before, std::move(range));
    if (const auto* before = madeBy<CatOp>(*in)) return sliceOfCat(*before, std::move(range));
    if (const auto* before = madeBy<PadOp>(*in)) return sliceOfPad(*before, std::move(range));
    return false;
  }

  bool sliceOfSlice(const SliceOp& before, SliceOp range) {
    range.in = before.in;
    const Axes middle = shapeOf(*before.out);
    for (size_t i = 0; i < range.starts.size(); ++i) {
      if (range.stops[i] == middle[i]->visibleExtent() && range.steps[i]->isConstantInt(1))
        range.stops[i] = before.stops[i];
      else if (before.steps[i]->isConstantInt(1))
        range.stops[i] = target_.add(before.starts[i], range.stops[i]);
      else
        return false;
      range.starts[i] = target_.add(before.starts[i], target_.mul(range.starts[i], before.steps[i]));
      range.steps[i] = target_.mul(before.steps[i], range.steps[i]);
    }
    return put(std::move(range));
  }

  bool sliceOfCat(const CatOp& before, SliceOp range) {
    const auto axis = static_cast<size_t>(before.axis);
    Scalar* begin = target_.constant(0);
    for (TensorView* part : before.ins) {
      Scalar* end = target_.add(begin, shapeOf(*part)[axis]->visibleExtent());
      if (isPlainlyLessOrEqual(*begin, *range.starts[axis]) && isPlainlyLessOrEqual(*range.stops[axis], *end)) {
        range.in = part;
        range.starts[axis] = target_.sub(range.starts[axis], begin);
        range.stops[axis] = target_.sub(range.stops[axis], begin);
        return put(std::move(range));
      }
      begin = end;
    }
    return false;
  }

  bool sliceOfPad(const PadOp& before, SliceOp range) {
    const Axes shape = shapeOf(*before.in);
    for (size_t i = 0; i < shape.size(); ++i) {
      Scalar* first = before.widths[2 * i];
      Scalar* end = target_.add(first, shape[i]->visibleExtent());
      const bool is_untouched = first->isConstantInt(0) && before.widths[2 * i + 1]->isConstantInt(0);
      if (!is_untouched && !(isNonNegative(*first) && isPlainlyLessOrEqual(*first, *range.starts[i]) &&
                             isPlainlyLessOrEqual(*range.stops[i], *end)))
        return false;
      range.starts[i] = target_.sub(range.starts[i], first);
      range.stops[i] = target_.sub(range.stops[i], first);
    }
    range.in = before.in;
    return put(std::move(range));
  }

  bool pad(const PadOp& op) {
    const auto* before = madeBy<PadOp>(*cloner_.clone(op.in));
    if (before == nullptr || before->value != cloner_.clone(op.value)) return false;
    PadOp both{.in = before->in, .widths = clones(op.widths), .value = before->value};
    const auto cutsNothing = [](const Scalars& widths) {
      return std::ranges::all_of(widths, [](const Scalar* width) { return isNonNegative(*width); });
    };
    if (!cutsNothing(both.widths) || !cutsNothing(before->widths)) return false;
    for (size_t i = 0; i < both.widths.size(); ++i) both.widths[i] = target_.add(both.widths[i], before->widths[i]);
    return putInPlace(source_, expr_, cloner_, std::move(both));
  }

  bool cat(const CatOp& op) {
    CatOp flat{.axis = op.axis};
    for (TensorView* in : op.ins) {
      TensorView* copy = cloner_.clone(in);
      const auto* inner = madeBy<CatOp>(*copy);
      const bool is_read_once = in->uses().size() == 1 && std::ranges::count(op.ins, in) == 1;
      const bool is_inlined = inner != nullptr && inner->axis == op.axis && is_read_once && !source_.isOutput(in);
      if (is_inlined)
        flat.ins.insert(flat.ins.end(), inner->ins.begin(), inner->ins.end());
      else
        flat.ins.push_back(copy);
    }
    if (flat.ins.size() == 1) return readOrView(source_, expr_, cloner_, flat.ins[0]);
    const auto axis = static_cast<size_t>(op.axis);
    if (const auto parts = joinParts(flat.ins, axis); parts && joined(*parts)) return true;
    if (const auto parts = stackedParts(flat.ins, axis); parts && stacked(*parts)) return true;
    return flat.ins.size() != op.ins.size() && putInPlace(source_, expr_, cloner_, std::move(flat));
  }

  // Replaces the concatenation by the joined range, with the parts' movement.
  bool joined(const JoinedParts& parts) {
    if (parts.steps.empty()) return put(parts.range);
    TensorView* in = parts.range.in;
    if (!isWhole(parts.range)) in = made(parts.range);
    for (const JoinedParts::Step& step : std::span(parts.steps).first(parts.steps.size() - 1))
      in = rebuild(*step.expr, *in, step.axis);
    return rebuildInPlace(source_, expr_, cloner_, *parts.steps.back().expr, *in, parts.steps.back().axis);
  }

  template <class Op>
  TensorView* made(Op op) {
    op.infer(ShapeRule(target_, Op::info.name));
    TensorView* out = op.out;
    target_.appendOp(std::move(op));
    return out;
  }

  bool stacked(const StackedParts& parts) {
    TensorView* value = isWhole(parts.range) ? parts.range.in : made(parts.range);
    if (!std::ranges::is_sorted(parts.order)) value = made(PermuteOp{.in = value, .order = parts.order});
    for (const Expr* cast : parts.casts) value = rebuild(*cast, *value);
    const bool has_new_axes = std::ranges::find(parts.flags, true) != parts.flags.end();
    if (has_new_axes) value = made(BroadcastOp{.in = value, .flags = parts.flags});
    return readOrView(source_, expr_, cloner_, value);
  }

  const Fusion& source_;
  const Expr& expr_;
  Cloner& cloner_;
  Fusion& target_;
};

std::unique_ptr<Fusion> foldOnce(const Fusion& fusion) {
  const auto folded =
      rewriteFusion(fusion, [&](const Expr& expr, Cloner& cloner) { return RangeFolder(fusion, expr, cloner).fold(); });
  return removeDead(*folded);
}

}  // namespace

std::unique_ptr<Fusion> foldRanges(const Fusion& fusion) {
  std::unique_ptr<Fusion> folded = foldOnce(fusion);
  if (isEqual(fusion, *folded)) return folded;
  // To a fixed point, because folds make other ops adjacent.
  while (true) {
    std::unique_ptr<Fusion> again = foldOnce(*foldMovement(*foldCasts(*folded)));
    if (isEqual(*folded, *again)) return folded;
    folded = std::move(again);
  }
}

}  // namespace tokamak
