#include "heuristics/reduction_sizes.h"

#include <algorithm>

namespace tokamak {

ReductionSizes reductionSizesOf(const ReductionStructure& structure, const ScalarBindings& sizes) {
  Fusion& fusion = structure.fusion();
  const Strides strides = globalStrides(fusion);
  ReductionSizes facts{.may_split = maySplitOverGrid(structure)};
  for (const TensorView* tensor : structure.stored()) {
    if (!structure.hasRows(*tensor)) continue;
    const RowLoops loops = rowLoopsOf(structure, *tensor);
    if (loops.inner.empty()) continue;
    facts.may_split = facts.may_split && isInnerReduction(structure, *tensor, strides);
    facts.max_vector = std::min(facts.max_vector, vectorOf(fusion, *tensor, strides, kAccessBytes));
    facts.has_rows = true;
    facts.is_followed |= structure.isFollowed(*tensor);
    facts.needs_whole_rows |= structure.partialOuterReductions().empty() ||
                              (isReduced(*tensor) && !structure.isPartialOuterReduction(*tensor));
    facts.writes_rows |= !isReduced(*tensor);
    constexpr int64_t kUnknown = 1 << 20;
    facts.is_constant = facts.is_constant && productOf(*tensor, loops.inner, {}).has_value();
    facts.inner = std::max(facts.inner, productOf(*tensor, loops.inner, sizes).value_or(kUnknown));
    facts.rows = std::max(facts.rows, productOf(*tensor, loops.rows, sizes).value_or(kUnknown));
  }
  return facts;
}

}  // namespace tokamak
