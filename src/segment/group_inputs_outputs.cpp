#include "segment/group_inputs_outputs.h"

#include <algorithm>
#include <unordered_set>

namespace tokamak {

SegmentedGroup groupOf(const Fusion& fusion, std::vector<Expr*> exprs) {
  const std::unordered_set<const Expr*> inside(exprs.begin(), exprs.end());
  std::unordered_set<const Val*> read;
  SegmentedGroup group;
  for (const Expr* expr : exprs) {
    for (TensorView* input : tensorsOf(expr->inputs())) {
      const bool is_inside = input->definition() != nullptr && inside.contains(input->definition());
      if (!is_inside && read.insert(input).second) group.inputs.push_back(input);
    }
    for (TensorView* output : tensorsOf(expr->outputs())) {
      const bool is_read_outside =
          std::ranges::any_of(output->uses(), [&](const Expr* use) { return !inside.contains(use); });
      if (is_read_outside || fusion.isOutput(output)) group.outputs.push_back(output);
    }
  }
  group.exprs = std::move(exprs);
  return group;
}

}  // namespace tokamak
