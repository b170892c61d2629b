#include "heuristics/row_facts.h"

#include <algorithm>

namespace tokamak {

RowFacts rowFactsOf(const KernelRows& rows, const ScalarBindings& sizes) {
  Fusion& fusion = rows.fusion();
  const Strides strides = globalStrides(fusion);
  RowFacts facts{.may_split = mayShareReductions(rows)};
  for (const TensorView* tensor : rows.stored()) {
    if (!rows.hasRows(*tensor)) continue;
    const RowLoops loops = rowLoopsOf(rows, *tensor);
    if (loops.rest.empty()) continue;
    facts.may_split = facts.may_split && isAlongRows(rows, *tensor, strides);
    facts.vector = std::min(facts.vector, vectorOf(fusion, *tensor, strides, kAccessBytes));
    facts.has_rows = true;
    facts.is_followed |= rows.isFollowed(*tensor);
    facts.is_whole |= rows.columnParts().empty() || (isReduced(*tensor) && !rows.isColumnPart(*tensor));
    facts.is_written |= !isReduced(*tensor);
    constexpr int64_t kUnknown = 1 << 20;
    facts.is_constant = facts.is_constant && productOf(*tensor, loops.rest, {}).has_value();
    facts.rest = std::max(facts.rest, productOf(*tensor, loops.rest, sizes).value_or(kUnknown));
    facts.rows = std::max(facts.rows, productOf(*tensor, loops.rows, sizes).value_or(kUnknown));
  }
  return facts;
}

}  // namespace tokamak
