#include "ir/domain_transform.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include <fmt/format.h>

#include "ir/clone.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

std::string markOf(const IterDomain& axis) {
  return fmt::format("axis {}{{{}}}", iterKindLetter(axis.kind()), toString(*axis.extent()));
}

struct Walk {
  std::unordered_set<const IterDomain*> from;
  std::unordered_set<const DomainExpr*> seen;
  std::vector<const DomainExpr*> steps;
  std::vector<const IterDomain*> visited;

  // Back from these axes to those of `from`, or to axes without a definition.
  void back(std::vector<const IterDomain*> pending) {
    while (!pending.empty()) {
      const IterDomain* axis = pending.back();
      pending.pop_back();
      visited.push_back(axis);
      const DomainExpr* step = axis->definition();
      if (from.contains(axis) || step == nullptr || !seen.insert(step).second) continue;
      steps.push_back(step);
      for (const IterDomain* in : step->in) {
        if (in != nullptr) pending.push_back(in);
      }
    }
  }
};

std::string linkProblem(const DomainExpr& step) {
  for (const IterDomain* in : step.in) {
    if (in != nullptr && in->use() != &step) return fmt::format("{} goes into a step that is not its use", markOf(*in));
  }
  for (const IterDomain* out : step.out) {
    if (out != nullptr && out->definition() != &step)
      return fmt::format("{} comes from a step that is not its definition", markOf(*out));
  }
  const bool is_split = step.kind == DomainExprKind::Split;
  const bool is_merge = step.kind == DomainExprKind::Merge;
  const bool is_complete = step.in[0] != nullptr && step.out[0] != nullptr && (step.in[1] != nullptr) != is_split &&
                           (step.out[1] != nullptr) != is_merge && (step.factor != nullptr) == is_split;
  const std::string_view name = is_split ? "split" : is_merge ? "merge" : "swizzle";
  return is_complete ? "" : fmt::format("a {} lacks an axis or its factor", name);
}

}  // namespace

std::string transformProblem(const Axes& from, const Axes& to) {
  Walk walk;
  walk.from.insert(from.begin(), from.end());
  walk.back({to.begin(), to.end()});
  std::map<const IterDomain*, int> uses;
  for (const IterDomain* axis : to) ++uses[axis];
  for (const DomainExpr* step : walk.steps) {
    const std::string problem = linkProblem(*step);
    if (!problem.empty()) return problem;
    for (const IterDomain* in : step->in) {
      if (in != nullptr) ++uses[in];
    }
  }
  for (const IterDomain* axis : walk.visited) {
    if (!walk.from.contains(axis) && axis->definition() == nullptr)
      return fmt::format("{} does not come from it", markOf(*axis));
    if (uses[axis] != 1) return fmt::format("{} is used {} times", markOf(*axis), uses[axis]);
  }
  std::vector<const IterDomain*> made(from.begin(), from.end());
  for (const DomainExpr* step : walk.steps) {
    for (const IterDomain* out : step->out) {
      if (out != nullptr) made.push_back(out);
    }
  }
  for (const IterDomain* axis : made) {
    if (uses[axis] != 1) return fmt::format("{} is used {} times", markOf(*axis), uses[axis]);
  }
  return "";
}

std::vector<const DomainExpr*> transformSteps(const TensorDomain& domain) {
  Walk walk;
  for (const Axes* axes : {&domain.loop, &domain.logical, &domain.allocation}) walk.back({axes->begin(), axes->end()});
  return walk.steps;
}

std::string stepProblem(const DomainExpr& step, Cloner& cloner) {
  Fusion& fusion = cloner.target();
  const auto extentOf = [&](const IterDomain* axis) { return simplify(cloner.clone(axis->extent())); };
  const auto differ = [](Scalar* have, Scalar* want) { return have != simplify(want); };
  const bool has_broadcast = step.in[0]->isBroadcast() || (step.in[1] != nullptr && step.in[1]->isBroadcast());
  if (has_broadcast) return "";  // its extent is 1 while others see it larger
  if (step.kind == DomainExprKind::Swizzle) {
    const bool is_same =
        !differ(extentOf(step.out[0]), extentOf(step.in[0])) && !differ(extentOf(step.out[1]), extentOf(step.in[1]));
    return is_same ? "" : fmt::format("swizzle to {} and {}", markOf(*step.out[0]), markOf(*step.out[1]));
  }
  if (step.kind == DomainExprKind::Merge) {
    Scalar* product = fusion.mul(extentOf(step.in[0]), extentOf(step.in[1]));
    if (!differ(extentOf(step.out[0]), product)) return "";
    return fmt::format("merge to {}, which has not {} elements,", markOf(*step.out[0]), toString(*product));
  }
  Scalar* factor = simplify(cloner.clone(step.factor));
  if (factor->constantInt().value_or(1) < 1)
    return fmt::format("split of {} by {}, which is not positive,", markOf(*step.in[0]), toString(*factor));
  Scalar* other = fusion.ceilDiv(extentOf(step.in[0]), factor);
  const IterDomain* outer = step.out[0];
  const IterDomain* inner = step.out[1];
  const bool differs = step.is_inner_factor ? differ(extentOf(inner), factor) || differ(extentOf(outer), other)
                                            : differ(extentOf(outer), factor) || differ(extentOf(inner), other);
  return differs ? fmt::format("split of {} by {} to {} and {}", markOf(*step.in[0]), toString(*factor), markOf(*outer),
                               markOf(*inner))
                 : "";
}

}  // namespace tokamak
