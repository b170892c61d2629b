#include "heuristics/axis_groups.h"

#include <algorithm>

#include "ir/ops/math/reduction_op.h"
#include "ir/scalar_simplifier.h"

namespace tokamak {

AxisGroups::AxisGroups(Fusion& fusion, const TensorView& output, const Strides& strides) : fusion_(&fusion) {
  IntervalAnalysis analysis;
  analysis.assumeExtents(fusion);
  RuleTable rules;
  const ElementRule& rule = rules.of(*output.definition());
  extents_ = rule.extents;
  for (size_t i = 0; i < rule.coordinates.size(); ++i) analysis.assumeIndex(*rule.coordinates[i], *extents_[i]);

  Substitution same(fusion);
  const auto isReduction = [](const TensorView& tensor) { return tensor.definition()->is<ReductionOp>(); };
  TensorReads reads(fusion, analysis, rules, isReduction);
  std::vector<TensorRead> all = reads.of(*rule.value, same);
  all.push_back({&output, rule.coordinates});
  for (const TensorRead& read : all) {
    const auto known = strides.find(read.tensor);
    if (known == strides.end()) continue;
    Scalar* address = linearIndex(fusion, analysis, *read.tensor, known->second, read.index);
    Access access;
    for (size_t i = 0; i < rule.coordinates.size(); ++i) {
      Substitution next(fusion);
      next.set(*rule.coordinates[i], fusion.add(rule.coordinates[i], fusion.constant(1)));
      Scalar* step = simplify(fusion.sub(next(address), address), analysis);
      const bool is_linear = std::ranges::none_of(
          rule.coordinates, [&](const Scalar* coordinate) { return mentions(*step, *coordinate); });
      access.strides.push_back(is_linear ? step : nullptr);
    }
    accesses_.push_back(std::move(access));
  }
}

bool AxisGroups::mayMerge(size_t axis) const {
  return std::ranges::all_of(accesses_, [&](const Access& access) {
    Scalar* outer = access.strides[axis];
    Scalar* inner = access.strides[axis + 1];
    return outer != nullptr && inner != nullptr && outer == fusion_->mul(inner, extents_[axis + 1]);
  });
}

size_t AxisGroups::innermostGroup() const {
  if (extents_.empty()) return 0;
  size_t first = extents_.size() - 1;
  while (first > 0 && mayMerge(first - 1)) --first;
  return first;
}

}  // namespace tokamak
