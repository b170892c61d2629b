#include "schedule/redo_steps.h"

#include <algorithm>

#include "schedule/loop_steps.h"
#include "schedule/transforms.h"

namespace tokamak {

IterDomain* copyIn(const AxisCopies& copies, IterDomain* axis) {
  const auto found = copies.find(axis);
  return found == copies.end() ? axis : found->second;
}

std::vector<const DomainExpr*> stepsTo(const Axes& axes, const Axes& shape) {
  std::vector<const DomainExpr*> steps;
  Axes pending = axes;
  while (!pending.empty()) {
    const IterDomain* axis = pending.back();
    pending.pop_back();
    const DomainExpr* step = axis->definition();
    const bool is_start = step == nullptr || std::ranges::find(shape, axis) != shape.end();
    if (is_start || std::ranges::find(steps, step) != steps.end()) continue;
    steps.push_back(step);
    for (IterDomain* in : step->in) {
      if (in != nullptr) pending.push_back(in);
    }
  }
  std::ranges::sort(steps, {}, [](const DomainExpr* step) { return step->out[0]->id(); });
  return steps;
}

void redoSteps(const std::vector<const DomainExpr*>& steps, AxisCopies& copies) {
  for (const DomainExpr* step : steps) {
    const auto isCopied = [&](const IterDomain* in) { return in != nullptr && copies.contains(in); };
    if (std::ranges::none_of(step->in, isCopied)) continue;
    IterDomain* second = step->in[1] == nullptr ? nullptr : copyIn(copies, step->in[1]);
    const DomainExpr* made = stepLike(*step, copyIn(copies, step->in[0]), second);
    for (size_t i = 0; i < 2; ++i) {
      if (step->out[i] != nullptr) copies[step->out[i]] = made->out[i];
    }
  }
}

void copyMarks(const AxisCopies& copies) {
  for (const auto& [from, to] : copies) to->parallelize(from->parallelType());
}

void exchangeAxes(TensorView& tensor, AxisCopies copies) {
  TensorDomain& domain = tensor.mutableDomain();
  redoSteps(stepsTo(domain.loop, domain.logical), copies);
  copyMarks(copies);
  for (Axes* axes : {&domain.logical, &domain.loop})
    std::ranges::transform(*axes, axes->begin(), [&](IterDomain* axis) { return copyIn(copies, axis); });
}

}  // namespace tokamak
