#include "schedule/transform_replay.h"

#include <algorithm>

#include "schedule/inline.h"
#include "schedule/loop_steps.h"
#include "schedule/shared_loops.h"
#include "schedule/transforms.h"

namespace tokamak {

TransformReplay::TransformReplay(TensorView& own, const AxisPairs& pairs, Mode mode)
    : own_(&own), mode_(sharedLoopCount(own) > 0 ? Mode::Find : mode), axes_(pairs.begin(), pairs.end()) {}

void TransformReplay::follow(const Axes& loop) {
  for (const IterDomain* axis : loop) followAxis(*axis);
}

IterDomain* TransformReplay::at(const IterDomain& axis) const {
  const auto found = axes_.find(&axis);
  return found == axes_.end() ? nullptr : found->second;
}

IterDomain* TransformReplay::loopAxisAt(const IterDomain& axis) const {
  IterDomain* own = at(axis);
  return own != nullptr && isInLoop(own) ? own : nullptr;
}

bool TransformReplay::isInLoop(const IterDomain* axis) const {
  return std::ranges::find(own_->loop(), axis) != own_->loop().end();
}

bool TransformReplay::isFree(const IterDomain* axis) const {
  return axis == nullptr || (isInLoop(axis) && axis->parallelType() == ParallelType::Serial);
}

// Whether the axis is made of absent axes only.
bool TransformReplay::isAbsent(const IterDomain& axis) const {
  if (std::ranges::find(absent_, &axis) != absent_.end()) return true;
  const DomainExpr* step = axis.definition();
  if (step == nullptr || at(axis) != nullptr) return false;
  return std::ranges::all_of(step->in, [&](const IterDomain* in) { return in == nullptr || isAbsent(*in); });
}

// Follows each step once, in topological order.
void TransformReplay::followAxis(const IterDomain& axis) {
  const DomainExpr* step = axis.definition();
  if (step == nullptr || at(axis) != nullptr) return;
  for (const IterDomain* in : step->in) {
    if (in != nullptr) followAxis(*in);
  }
  IterDomain* first = at(*step->in[0]);
  IterDomain* second = step->in[1] != nullptr ? at(*step->in[1]) : nullptr;
  if (step->kind == DomainExprKind::Merge && (first == nullptr) != (second == nullptr)) {
    const IterDomain& missing = *step->in[first == nullptr ? 0 : 1];
    if (isAbsent(missing)) axes_[step->out[0]] = first == nullptr ? second : first;
    return;
  }
  if (first == nullptr || (step->in[1] != nullptr && second == nullptr)) return;
  const DomainExpr* own = sameStep(*step, first, second);
  if (own == nullptr) return;
  for (size_t i = 0; i < 2; ++i) {
    if (step->out[i] != nullptr) axes_[step->out[i]] = own->out[i];
  }
}

// The tensor's step of this form, made if it may be; else null.
const DomainExpr* TransformReplay::sameStep(const DomainExpr& step, IterDomain* first, IterDomain* second) {
  if (const DomainExpr* own = first->use(); own != nullptr && !isInLoop(first))
    return isSameForm(*own, step) && own->in[0] == first && own->in[1] == second ? own : nullptr;
  if (mode_ == Mode::Find || !isFree(first) || !isFree(second) || first == second) return nullptr;
  if (step.kind == DomainExprKind::Merge && !canMerge(*first, *second)) return nullptr;
  if (step.kind == DomainExprKind::Swizzle && !canSwizzle(*first, *second, step.swizzle)) return nullptr;
  const DomainExpr* own = stepLike(step, first, second);
  replaceAxes(own_->mutableDomain().loop, *own);
  has_made_steps_ = true;
  return own;
}

}  // namespace tokamak
