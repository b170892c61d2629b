#include "schedule/transforms.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "ir/fusion.h"

namespace tokamak {

namespace {

// A loop axis that a step may still change: a mark says how the axis as it is now is run.
IterDomain* serialAxis(std::string_view command, const TensorView& tensor, int64_t axis) {
  IterDomain* domain = tensor.loop()[static_cast<size_t>(normalLoopAxis(command, tensor, axis))];
  TK_REQUIRE(domain->parallelType() == ParallelType::Serial, Schedule,
             "{}: {} is already marked {}; {} it first, mark then", command, describeAxis(tensor, *domain),
             parallelTypeName(domain->parallelType()), command);
  return domain;
}

// A part of a broadcast axis is a broadcast axis: it shows a part of the size, if it shows one.
IterDomain* part(const IterDomain& axis, Scalar* extent) {
  if (!axis.isBroadcast()) return axis.fusion().axis({.kind = axis.kind(), .extent = extent});
  Scalar* shown = axis.expandedExtent() != nullptr ? extent : nullptr;
  return axis.fusion().axis({.kind = axis.kind(), .expanded_extent = shown});
}

IterKind mergedKind(const IterDomain& outer, const IterDomain& inner) {
  if (outer.isReduction() || inner.isReduction()) return IterKind::Reduction;
  return outer.isBroadcast() && inner.isBroadcast() ? IterKind::Broadcast : IterKind::Iteration;
}

}  // namespace

int64_t normalLoopAxis(std::string_view command, const TensorView& tensor, int64_t axis) {
  const int64_t count = tensor.axisCount();
  TK_REQUIRE(count > 0, Schedule, "{}: {} has no axes", command, toString(tensor));
  TK_REQUIRE(axis >= -count && axis < count, Schedule,
             "{}: axis {} is out of bounds for {} with {} loop axes; legal are {} to {}", command, axis,
             toString(tensor), count, -count, count - 1);
  return axis < 0 ? axis + count : axis;
}

const DomainExpr* splitStep(IterDomain* axis, Scalar* factor, SplitSide side) {
  Fusion& fusion = axis->fusion();
  Scalar* rest = fusion.ceilDiv(axis->visibleExtent(), factor);
  const bool is_inner = side == SplitSide::Inner;
  DomainExpr step{.kind = DomainExprKind::Split, .factor = factor, .is_inner_factor = is_inner};
  step.in[0] = axis;
  step.out[0] = part(*axis, is_inner ? rest : factor);
  step.out[1] = part(*axis, is_inner ? factor : rest);
  return fusion.domainExpr(step);
}

const DomainExpr* mergeStep(IterDomain* outer, IterDomain* inner) {
  Fusion& fusion = outer->fusion();
  Scalar* extent = fusion.mul(outer->visibleExtent(), inner->visibleExtent());
  const IterKind kind = mergedKind(*outer, *inner);
  DomainExpr step{.kind = DomainExprKind::Merge};
  step.in[0] = outer;
  step.in[1] = inner;
  if (kind == IterKind::Broadcast) {
    const bool is_expanded = outer->expandedExtent() != nullptr || inner->expandedExtent() != nullptr;
    step.out[0] = fusion.axis({.kind = kind, .expanded_extent = is_expanded ? extent : nullptr});
  } else {
    step.out[0] = fusion.axis({.kind = kind, .extent = extent});
  }
  return fusion.domainExpr(step);
}

void split(TensorView* tensor, int64_t axis, Operand factor_operand, SplitSide side) {
  IterDomain* domain = serialAxis("split", *tensor, axis);
  Scalar* factor = scalarOf(tensor->fusion(), "split", factor_operand);
  TK_REQUIRE(&factor->fusion() == &tensor->fusion(), Schedule, "split: the factor {} for {} belongs to another fusion",
             toString(*factor), toString(*tensor));
  TK_REQUIRE(isIntegerType(factor->dtype()) && (!factor->constantInt() || *factor->constantInt() > 0), Schedule,
             "split: factor {} for {}; factors are positive integers", toString(*factor),
             describeAxis(*tensor, *domain));
  const DomainExpr* step = splitStep(domain, factor, side);
  Axes& loop = tensor->mutableDomain().loop;
  const auto position = std::ranges::find(loop, domain);
  *position = step->out[0];
  loop.insert(position + 1, step->out[1]);
}

void inner_split(TensorView* tensor, int64_t axis, Operand factor) { split(tensor, axis, factor, SplitSide::Inner); }
void outer_split(TensorView* tensor, int64_t axis, Operand factor) { split(tensor, axis, factor, SplitSide::Outer); }

void merge(TensorView* tensor, int64_t axis) {
  const int64_t position = normalLoopAxis("merge", *tensor, axis);
  TK_REQUIRE(position + 1 < tensor->axisCount(), Schedule,
             "merge: axis {} is the last of {}; it merges with the one after it", position, toString(*tensor));
  IterDomain* outer = serialAxis("merge", *tensor, position);
  IterDomain* inner = serialAxis("merge", *tensor, position + 1);
  const auto isIteration = [](const IterDomain* a) { return !a->isReduction() && !a->isBroadcast(); };
  TK_REQUIRE(!(outer->isReduction() && isIteration(inner)) && !(inner->isReduction() && isIteration(outer)), Schedule,
             "merge: {} and {}: one is a reduction axis, the other is not; reorder to bring axes of one kind together",
             describeAxis(*tensor, *outer), describeAxis(*tensor, *inner));
  Axes& loop = tensor->mutableDomain().loop;
  loop[static_cast<size_t>(position)] = mergeStep(outer, inner)->out[0];
  loop.erase(loop.begin() + position + 1);
}

void reorder(TensorView* tensor, const std::vector<int64_t>& order) {
  const Axes& loop = tensor->loop();
  std::vector<bool> is_taken(loop.size(), false);
  Axes reordered;
  for (const int64_t axis : order) {
    const auto position = static_cast<size_t>(normalLoopAxis("reorder", *tensor, axis));
    TK_REQUIRE(!is_taken[position], Schedule, "reorder: axis {} of {} is named twice", axis, toString(*tensor));
    is_taken[position] = true;
    reordered.push_back(loop[position]);
  }
  TK_REQUIRE(reordered.size() == loop.size(), Schedule,
             "reorder: {} axes in the order for {} with {} loop axes; name each once", order.size(), toString(*tensor),
             loop.size());
  tensor->mutableDomain().loop = std::move(reordered);
}

void parallelize(TensorView* tensor, int64_t axis, ParallelType type) {
  tensor->loop()[static_cast<size_t>(normalLoopAxis("parallelize", *tensor, axis))]->parallelize(type);
}

}  // namespace tokamak
