#include "graph/fold_movement.h"

#include <algorithm>

#include "graph/remove_dead.h"
#include "graph/replacement.h"
#include "graph/rewriter.h"
#include "ir/ops/math/broadcast_op.h"
#include "ir/ops/math/expand_op.h"
#include "ir/ops/math/permute_op.h"
#include "ir/ops/math/reshape_op.h"
#include "ir/ops/math/slice_op.h"
#include "ir/ops/math/squeeze_op.h"

namespace tokamak {

namespace {

using Flags = std::vector<bool>;

bool isAny(const Flags& flags) { return std::ranges::find(flags, true) != flags.end(); }

// The axes that two broadcasts add: `inner` has a flag per axis of the intermediate tensor, to which the unset flags of
// `outer` correspond.
Flags addedByBoth(const Flags& inner, const Flags& outer) {
  Flags both;
  size_t middle = 0;
  for (const bool is_added : outer) both.push_back(is_added || inner[middle++]);
  return both;
}

// Copies expressions to the target, folded with their operands there.
class MovementFolder {
 public:
  MovementFolder(const Fusion& source, const Expr& expr, Cloner& cloner)
      : source_(source), expr_(expr), cloner_(cloner) {}

  bool fold() {
    if (const auto* op = expr_.as<PermuteOp>()) return permute(*op);
    if (const auto* op = expr_.as<ReshapeOp>()) return reshape(*op);
    if (const auto* op = expr_.as<BroadcastOp>()) return broadcast(*op);
    if (const auto* op = expr_.as<SqueezeOp>()) return squeeze(*op);
    if (const auto* op = expr_.as<ExpandOp>()) return expand(*op);
    if (const auto* op = expr_.as<SliceOp>()) return slice(*op);
    return false;
  }

 private:
  template <class Op>
  bool put(Op op) {
    return putInPlace(source_, expr_, cloner_, std::move(op));
  }
  bool read(TensorView* by) { return readInstead(source_, expr_, cloner_, by); }

  bool permute(const PermuteOp& op) {
    TensorView* in = cloner_.clone(op.in);
    const auto* before = madeBy<PermuteOp>(*in);
    std::vector<int64_t> order = op.order;
    if (before != nullptr) {
      for (int64_t& axis : order) axis = before->order[static_cast<size_t>(axis)];
      in = before->in;
    }
    if (std::ranges::is_sorted(order) && read(in)) return true;
    return before != nullptr && put(PermuteOp{.in = in, .order = std::move(order)});
  }

  bool reshape(const ReshapeOp& op) {
    TensorView* in = cloner_.clone(op.in);
    const auto* before = madeBy<ReshapeOp>(*in);
    if (before != nullptr) in = before->in;
    if (read(in)) return true;
    ReshapeOp whole{.in = in};
    for (Scalar* extent : op.shape) whole.shape.push_back(cloner_.clone(extent));
    return before != nullptr && put(std::move(whole));
  }

  bool broadcast(const BroadcastOp& op) {
    TensorView* in = cloner_.clone(op.in);
    if (!isAny(op.flags)) return read(in);
    Flags flags = op.flags;
    const auto* first = madeBy<BroadcastOp>(*in);
    if (first != nullptr) {
      flags = addedByBoth(first->flags, flags);
      in = first->in;
    }
    const auto* before = madeBy<SqueezeOp>(*in);
    if (before != nullptr && before->flags == flags && read(before->in)) return true;
    return first != nullptr && put(BroadcastOp{.in = in, .flags = std::move(flags)});
  }

  bool squeeze(const SqueezeOp& op) {
    TensorView* in = cloner_.clone(op.in);
    if (!isAny(op.flags)) return read(in);
    Flags flags = op.flags;
    const auto* first = madeBy<SqueezeOp>(*in);
    if (first != nullptr) {
      flags = addedByBoth(flags, first->flags);
      in = first->in;
    }
    const auto* before = madeBy<BroadcastOp>(*in);
    if (before != nullptr && squeezeBroadcast(*before, flags)) return true;
    return first != nullptr && put(SqueezeOp{.in = in, .flags = std::move(flags)});
  }

  bool squeezeBroadcast(const BroadcastOp& before, const Flags& flags) {
    Flags added;    // per axis of the result
    Flags removed;  // per axis of the operand
    for (size_t i = 0; i < flags.size(); ++i) {
      if (!flags[i]) added.push_back(before.flags[i]);
      if (!before.flags[i]) removed.push_back(flags[i]);
    }
    if (!isAny(added) && !isAny(removed)) return read(before.in);
    if (!isAny(removed)) return put(BroadcastOp{.in = before.in, .flags = std::move(added)});
    return !isAny(added) && put(SqueezeOp{.in = before.in, .flags = std::move(removed)});
  }

  bool expand(const ExpandOp& op) {
    TensorView* in = cloner_.clone(op.in);
    const auto* before = madeBy<ExpandOp>(*in);
    if (before != nullptr) in = before->in;
    if (read(in)) return true;
    if (before == nullptr) return false;
    ExpandOp whole{.in = in};
    for (Scalar* extent : op.shape) whole.shape.push_back(cloner_.clone(extent));
    // (An axis that the first expand has expanded keeps its size.)
    for (size_t i = 0; i < whole.shape.size(); ++i) {
      IterDomain* axis = shapeOf(*asTensor(before->out))[i];
      if (axis->expandedExtent() != nullptr) whole.shape[i] = axis->expandedExtent();
    }
    return put(std::move(whole));
  }

  bool slice(const SliceOp& op) {
    const Axes shape = shapeOf(*op.in);
    for (size_t i = 0; i < shape.size(); ++i) {
      const bool is_whole =
          op.starts[i]->isConstantInt(0) && op.steps[i]->isConstantInt(1) && op.stops[i] == shape[i]->visibleExtent();
      if (!is_whole) return false;
    }
    return read(cloner_.clone(op.in));
  }

  const Fusion& source_;
  const Expr& expr_;
  Cloner& cloner_;
};

}  // namespace

std::unique_ptr<Fusion> foldMovement(const Fusion& fusion) {
  const auto folded = rewriteFusion(
      fusion, [&](const Expr& expr, Cloner& cloner) { return MovementFolder(fusion, expr, cloner).fold(); });
  return removeDead(*folded);
}

}  // namespace tokamak
