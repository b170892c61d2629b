#include "heuristics/access_contiguity.h"

#include <algorithm>

#include "ir/extent_assumptions.h"
#include "ir/ops/math/reduction_op.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

AccessContiguity::AccessContiguity(Fusion& fusion, const TensorView& tensor, const Strides& strides)
    : fusion_(&fusion) {
  IntervalAnalysis analysis;
  assumeExtents(analysis, fusion);
  RuleTable rules;
  const ElementRule& rule = rules.of(*tensor.definition());
  size_t next_coordinate = 0;
  size_t next_reduced = 0;
  for (const IterDomain* axis : tensor.logical()) {
    if (axis->isReduction()) {
      const ReducedAxis& reduced = rule.value->axes[next_reduced++];
      coordinates_.push_back(reduced.coordinate);
      extents_.push_back(reduced.extent);
    } else {
      coordinates_.push_back(rule.coordinates[next_coordinate]);
      extents_.push_back(rule.extents[next_coordinate++]);
    }
    analysis.assumeIndex(*coordinates_.back(), *extents_.back());
  }

  Substitution same(fusion);
  const auto isReduction = [](const TensorView& read) { return read.definition()->is<ReductionOp>(); };
  TensorReads reads(fusion, analysis, rules, isReduction);
  const Element& value = rule.value->kind == ElementKind::Reduce ? *rule.value->operands[0] : *rule.value;
  std::vector<TensorRead> all = reads.of(value, same);
  all.push_back({&tensor, rule.coordinates});
  for (const TensorRead& read : all) {
    const auto known = strides.find(read.tensor);
    if (known == strides.end()) continue;
    Access access;
    access.tensor = read.tensor;
    access.index = read.index;
    access.address = linearIndex(fusion, analysis, *read.tensor, known->second, read.index);
    for (Scalar* coordinate : coordinates_) {
      Substitution next(fusion);
      next.set(*coordinate, fusion.add(coordinate, fusion.constant(1)));
      Scalar* step = simplify(fusion.sub(next(access.address), access.address), analysis);
      const bool is_linear =
          std::ranges::none_of(coordinates_, [&](const Scalar* other) { return mentions(*step, *other); });
      access.strides.push_back(is_linear ? step : nullptr);
    }
    accesses_.push_back(std::move(access));
  }
}

std::optional<size_t> AccessContiguity::unitAxis() const {
  std::vector<size_t> weights(coordinates_.size(), 0);
  for (const Access& access : accesses_) {
    const auto moves = [](const Scalar* stride) { return stride == nullptr || !stride->isConstantInt(0); };
    const auto weight = static_cast<size_t>(std::ranges::count_if(access.strides, moves));
    for (size_t i = 0; i < weights.size(); ++i) {
      if (access.strides[i] != nullptr && access.strides[i]->isConstantInt(1)) weights[i] += weight;
    }
  }
  std::optional<size_t> best;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0 && (!best || weights[i] >= weights[*best])) best = i;
  }
  return best;
}

bool AccessContiguity::mayMerge(size_t outer, size_t inner) const {
  return std::ranges::all_of(accesses_, [&](const Access& access) {
    Scalar* far = access.strides[outer];
    Scalar* near = access.strides[inner];
    return far != nullptr && near != nullptr && far == fusion_->mul(near, extents_[inner]);
  });
}

size_t AccessContiguity::innermostGroup(std::span<const int64_t> order) const {
  if (order.empty()) return 0;
  size_t first = order.size() - 1;
  while (first > 0 && mayMerge(static_cast<size_t>(order[first - 1]), static_cast<size_t>(order[first]))) --first;
  return first;
}

}  // namespace tokamak
