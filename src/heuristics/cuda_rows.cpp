#include "heuristics/cuda_rows.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "heuristics/axis_groups.h"
#include "ir/extent_assumptions.h"

namespace tokamak {

std::optional<int64_t> productOf(const TensorView& tensor, const AxisNumbers& loops, const ScalarBindings& sizes) {
  int64_t product = 1;
  for (const int64_t i : loops) {
    const auto extent = evaluate(*tensor.axis(i)->extent(), sizes);
    if (!extent) return std::nullopt;
    product *= asInt(*extent);
  }
  return product;
}

RowLoops rowLoopsOf(const KernelRows& rows, const TensorView& tensor) {
  RowLoops loops;
  loops.rows = loopsOf(tensor, rows.rowsOf(tensor));
  for (const int64_t i : axisRange(0, tensor.axisCount())) {
    if (std::ranges::find(loops.rows, i) != loops.rows.end()) continue;
    if (rows.isColumnPart(tensor)) {
      (tensor.axis(i)->isReduction() ? loops.turns : loops.rest).push_back(i);
      continue;
    }
    const bool is_expanded = tensor.axis(i)->expandedExtent() != nullptr;
    const bool is_one = tensor.axis(i)->extent()->isConstantInt(1) && !is_expanded;
    const bool is_along =
        isReduced(tensor) ? tensor.axis(i)->isReduction() : !tensor.axis(i)->isBroadcast() || is_expanded;
    const bool is_rest = is_along && !is_one;
    (is_rest ? loops.rest : loops.once).push_back(i);
  }
  // Beside others, an expanded axis is gone through once: the rest is then cut into threads like what is kept of it.
  const auto isExpanded = [&](int64_t i) {
    return !tensor.axis(i)->isReduction() && tensor.axis(i)->expandedExtent() != nullptr;
  };
  const auto expanded = std::ranges::stable_partition(loops.rest, std::not_fn(isExpanded));
  if (expanded.size() < loops.rest.size()) {
    loops.once.insert(loops.once.end(), expanded.begin(), expanded.end());
    loops.rest.erase(expanded.begin(), expanded.end());
  }
  return loops;
}

bool mayShareReductions(const KernelRows& rows) {
  return !rows.isSingleBlock() && rows.columnParts().empty() &&
         std::ranges::all_of(rows.stored(), [&](const TensorView* tensor) {
           if (isReduced(*tensor)) return !rows.isFollowing(*tensor);
           return rows.hasRows(*tensor) && rowLoopsOf(rows, *tensor).rest.empty();
         });
}

bool isAlongRows(const KernelRows& rows, const TensorView& reduction, const Strides& strides) {
  return rows.remembered(reduction, [&] {
    const auto unit = AxisGroups(rows.fusion(), reduction, strides).unitAxis();
    return !unit || reduction.logical()[*unit]->isReduction();
  });
}

bool areColumnsShort(const KernelRows& rows, const Strides& strides) {
  return std::ranges::all_of(rows.stored(), [&](const TensorView* tensor) {
    if (!rows.hasRows(*tensor)) return true;
    if (rows.rowsOf(*tensor).empty() || (isReduced(*tensor) && isAlongRows(rows, *tensor, strides))) return false;
    return productOf(*tensor, rowLoopsOf(rows, *tensor).rest, {}).value_or(kShortColumn + 1) <= kShortColumn;
  });
}

bool areColumnsAll(const KernelRows& rows) {
  return std::ranges::any_of(rows.stored(), [&](const TensorView* tensor) {
    if (!isReduced(*tensor) || rows.isColumnPart(*tensor)) return false;
    const auto outermost =
        std::ranges::find_if(tensor->logical(), [](const IterDomain* axis) { return mayBeRow(*axis); });
    return outermost != tensor->logical().end() && (*outermost)->isReduction();
  });
}

// Whether there are enough columns to keep a GPU busy, as far as is known.
static bool areColumnsMany(const KernelRows& rows) {
  constexpr int64_t kFewestBlocks = 96;
  constexpr int64_t kLineBytes = 128;
  std::optional<int64_t> bytes;
  for (const TensorView* tensor : rows.stored()) {
    if (!isReduced(*tensor)) continue;
    const auto columns = productOf(*tensor, rowLoopsOf(rows, *tensor).rows, {});
    if (!columns) return !areColumnsAll(rows);
    bytes = std::max(bytes.value_or(0), *columns * sizeOf(tensor->dtype()));
  }
  return bytes.value_or(0) >= kFewestBlocks * kLineBytes;
}

std::optional<std::string> whyNotInColumns(const KernelRows& rows, const Strides& strides) {
  for (const TensorView* tensor : rows.stored()) {
    if (rows.hasRows(*tensor) && isReduced(*tensor) && isAlongRows(rows, *tensor, strides))
      return fmt::format("{} reduces rows, others columns", nameOf(*tensor));
  }
  if (areColumnsMany(rows) || areColumnsShort(rows, strides)) return std::nullopt;
  for (const TensorView* tensor : rows.stored()) {
    if (!isReduced(*tensor) && rows.isFollowing(*tensor) && !rowLoopsOf(rows, *tensor).rest.empty())
      return fmt::format("{} needs whole columns for each of its elements", nameOf(*tensor));
  }
  return std::nullopt;
}

bool isInColumns(const KernelRows& rows, const Strides& strides) {
  return !rows.isSingleBlock() && rows.columnParts().empty() && !whyNotInColumns(rows, strides);
}

bool needsWholeColumns(const KernelRows& rows, bool is_in_columns) {
  return std::ranges::any_of(rows.stored(), [&](const TensorView* tensor) {
    const bool may_need = isReduced(*tensor) || (is_in_columns && !rowLoopsOf(rows, *tensor).rest.empty());
    return may_need && rows.isFollowing(*tensor);
  });
}

std::vector<TensorView*> besideUpdates(const KernelRows& rows, const TensorView& tensor) {
  std::vector<TensorView*> others;
  if (isReduced(tensor) || rows.fusion().outputAliases().empty()) return others;
  const auto extentOf = [](const IterDomain* axis) { return axis->visibleExtent(); };
  for (TensorView* other : rows.stored()) {
    const bool is_one_shape = std::ranges::equal(shapeOf(*other), shapeOf(tensor), {}, extentOf, extentOf);
    if (other != &tensor && !isReduced(*other) && is_one_shape) others.push_back(other);
  }
  return others;
}

int64_t vectorOf(Fusion& fusion, const TensorView& tensor, const Strides& strides, int64_t most) {
  const AxisGroups groups(fusion, tensor, strides);
  if (groups.extents().empty()) return 1;
  size_t first = groups.extents().size() - 1;
  // The longest tail along which each access is linear or does not move.
  while (first > 0 && groups.mayMerge(first - 1)) --first;
  Scalar* extent = fusion.constant(1);
  for (size_t i = first; i < groups.extents().size(); ++i) extent = fusion.mul(extent, groups.extents()[i]);
  IntervalAnalysis analysis;
  assumeExtents(analysis, fusion);
  int64_t vector = 1;
  for (const AxisGroups::Access& access : groups.accesses()) {
    const Scalar* stride = access.strides.back();
    if (stride != nullptr && stride->isConstantInt(1))
      vector = std::max(vector, kAccessBytes / sizeOf(access.tensor->dtype()));
  }
  vector = std::min(vector, most);
  while (vector > 1 && !analysis.isProvablyDivisible(*extent, *fusion.constant(vector))) vector /= 2;
  return vector;
}

bool mayTakeTurns(const KernelRows& rows) {
  return rows.columnParts().empty() && !rows.isSingleBlock() &&
         std::ranges::all_of(rows.stored(), [&](const TensorView* tensor) {
           const bool is_read = !isReduced(*tensor) && !tensor->uses().empty();
           return rows.rowsOf(*tensor).size() <= 1 && !is_read;
         });
}

}  // namespace tokamak
