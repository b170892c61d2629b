#include "heuristics/outer_reductions.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "heuristics/access_contiguity.h"
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

RowLoops rowLoopsOf(const ReductionStructure& structure, const TensorView& tensor) {
  RowLoops loops;
  loops.rows = loopsOf(tensor, structure.rowsOf(tensor));
  for (const int64_t i : axisRange(0, tensor.axisCount())) {
    if (std::ranges::find(loops.rows, i) != loops.rows.end()) continue;
    if (structure.isPartialOuterReduction(tensor)) {
      (tensor.axis(i)->isReduction() ? loops.iterations : loops.inner).push_back(i);
      continue;
    }
    const bool is_expanded = tensor.axis(i)->expandedExtent() != nullptr;
    const bool is_one = tensor.axis(i)->extent()->isConstantInt(1) && !is_expanded;
    const bool is_along =
        isReduced(tensor) ? tensor.axis(i)->isReduction() : !tensor.axis(i)->isBroadcast() || is_expanded;
    const bool is_inner = is_along && !is_one;
    (is_inner ? loops.inner : loops.unit_axes).push_back(i);
  }
  // An expanded axis beside others becomes a loop of its own. The inner domain is then split into threads like the
  // persistent buffers, which do not have the expanded axis.
  const auto isExpanded = [&](int64_t i) {
    return !tensor.axis(i)->isReduction() && tensor.axis(i)->expandedExtent() != nullptr;
  };
  const auto expanded = std::ranges::stable_partition(loops.inner, std::not_fn(isExpanded));
  if (expanded.size() < loops.inner.size()) {
    loops.unit_axes.insert(loops.unit_axes.end(), expanded.begin(), expanded.end());
    loops.inner.erase(expanded.begin(), expanded.end());
  }
  return loops;
}

bool maySplitOverGrid(const ReductionStructure& structure) {
  return !structure.isSingleBlock() && structure.partialOuterReductions().empty() &&
         std::ranges::all_of(structure.stored(), [&](const TensorView* tensor) {
           if (isReduced(*tensor)) return !structure.isFollowing(*tensor);
           return structure.hasRows(*tensor) && rowLoopsOf(structure, *tensor).inner.empty();
         });
}

bool isInnerReduction(const ReductionStructure& structure, const TensorView& reduction, const Strides& strides) {
  return structure.memoised(reduction, [&] {
    const auto unit = AccessContiguity(structure.fusion(), reduction, strides).unitAxis();
    return !unit || reduction.logical()[*unit]->isReduction();
  });
}

bool areOuterReductionsShort(const ReductionStructure& structure, const Strides& strides) {
  return std::ranges::all_of(structure.stored(), [&](const TensorView* tensor) {
    if (!structure.hasRows(*tensor)) return true;
    if (structure.rowsOf(*tensor).empty() || (isReduced(*tensor) && isInnerReduction(structure, *tensor, strides)))
      return false;
    return productOf(*tensor, rowLoopsOf(structure, *tensor).inner, {}).value_or(kShortOuterReduction + 1) <=
           kShortOuterReduction;
  });
}

bool isOutermostAxisReduced(const ReductionStructure& structure) {
  return std::ranges::any_of(structure.stored(), [&](const TensorView* tensor) {
    if (!isReduced(*tensor) || structure.isPartialOuterReduction(*tensor)) return false;
    const auto outermost =
        std::ranges::find_if(tensor->logical(), [](const IterDomain* axis) { return mayBeLongerThanOne(*axis); });
    return outermost != tensor->logical().end() && (*outermost)->isReduction();
  });
}

// Whether there are enough columns for all multiprocessors of a GPU, as far as sizes are known.
static bool areOuterReductionsMany(const ReductionStructure& structure) {
  constexpr int64_t kFewestBlocks = 96;
  constexpr int64_t kLineBytes = 128;
  std::optional<int64_t> bytes;
  for (const TensorView* tensor : structure.stored()) {
    if (!isReduced(*tensor)) continue;
    const auto columns = productOf(*tensor, rowLoopsOf(structure, *tensor).rows, {});
    if (!columns) return !isOutermostAxisReduced(structure);
    bytes = std::max(bytes.value_or(0), *columns * sizeOf(tensor->dtype()));
  }
  return bytes.value_or(0) >= kFewestBlocks * kLineBytes;
}

std::optional<std::string> whyNoOuterReduction(const ReductionStructure& structure, const Strides& strides) {
  for (const TensorView* tensor : structure.stored()) {
    if (structure.hasRows(*tensor) && isReduced(*tensor) && isInnerReduction(structure, *tensor, strides))
      return fmt::format("{} is an inner reduction, others are outer", nameOf(*tensor));
  }
  if (areOuterReductionsMany(structure) || areOuterReductionsShort(structure, strides)) return std::nullopt;
  for (const TensorView* tensor : structure.stored()) {
    if (!isReduced(*tensor) && structure.isFollowing(*tensor) && !rowLoopsOf(structure, *tensor).inner.empty())
      return fmt::format("{} needs whole outer reductions for each of its elements", nameOf(*tensor));
  }
  return std::nullopt;
}

bool isOuterReduction(const ReductionStructure& structure, const Strides& strides) {
  return !structure.isSingleBlock() && structure.partialOuterReductions().empty() &&
         !whyNoOuterReduction(structure, strides);
}

bool needsWholeOuterReductions(const ReductionStructure& structure, bool is_outer_reduction) {
  return std::ranges::any_of(structure.stored(), [&](const TensorView* tensor) {
    const bool may_need = isReduced(*tensor) || (is_outer_reduction && !rowLoopsOf(structure, *tensor).inner.empty());
    return may_need && structure.isFollowing(*tensor);
  });
}

std::vector<TensorView*> tensorsOfOneShape(const ReductionStructure& structure, const TensorView& tensor) {
  std::vector<TensorView*> others;
  if (isReduced(tensor) || structure.fusion().outputAliases().empty()) return others;
  const auto extentOf = [](const IterDomain* axis) { return axis->visibleExtent(); };
  for (TensorView* other : structure.stored()) {
    const bool is_one_shape = std::ranges::equal(shapeOf(*other), shapeOf(tensor), {}, extentOf, extentOf);
    if (other != &tensor && !isReduced(*other) && is_one_shape) others.push_back(other);
  }
  return others;
}

// The axes of a tensor from the slowest to the fastest in memory.
static AxisNumbers memoryOrderOf(const TensorView& tensor) {
  const Axes& logical = tensor.logical();
  AxisNumbers order;
  for (const IterDomain* axis : tensor.domain().allocation) {
    const auto found = std::ranges::find(logical, axis);
    if (found == logical.end()) return axisRange(0, std::ssize(logical));
    order.push_back(found - logical.begin());
  }
  return order.size() == logical.size() ? order : axisRange(0, std::ssize(logical));
}

AxisNumbers loopOrderOf(const ReductionStructure& structure, const TensorView& tensor) {
  AxisNumbers order = memoryOrderOf(tensor);
  for (const TensorView* other : tensorsOfOneShape(structure, tensor)) {
    if (memoryOrderOf(*other) != order) return axisRange(0, std::ssize(tensor.logical()));
  }
  return order;
}

int64_t vectorOf(Fusion& fusion, const TensorView& tensor, const Strides& strides, int64_t most) {
  return vectorOf(fusion, tensor, axisRange(0, std::ssize(tensor.logical())), strides, most);
}

int64_t vectorOf(Fusion& fusion, const TensorView& tensor, const AxisNumbers& order, const Strides& strides,
                 int64_t most) {
  const AccessContiguity contiguity(fusion, tensor, strides);
  if (order.empty()) return 1;
  Scalar* extent = fusion.constant(1);
  for (size_t i = contiguity.innermostGroup(order); i < order.size(); ++i)
    extent = fusion.mul(extent, contiguity.extents()[static_cast<size_t>(order[i])]);
  IntervalAnalysis analysis;
  assumeExtents(analysis, fusion);
  int64_t vector = 1;
  for (const AccessContiguity::Access& access : contiguity.accesses()) {
    const Scalar* stride = access.strides[static_cast<size_t>(order.back())];
    if (stride != nullptr && stride->isConstantInt(1))
      vector = std::max(vector, kAccessBytes / sizeOf(access.tensor->dtype()));
  }
  vector = std::min(vector, most);
  while (vector > 1 && !analysis.isProvablyDivisible(*extent, *fusion.constant(vector))) vector /= 2;
  return vector;
}

bool canUsePersistentGrid(const ReductionStructure& structure) {
  return structure.partialOuterReductions().empty() && !structure.isSingleBlock() &&
         std::ranges::all_of(structure.stored(), [&](const TensorView* tensor) {
           const bool is_read = !isReduced(*tensor) && !tensor->uses().empty();
           return structure.rowsOf(*tensor).size() <= 1 && !is_read;
         });
}

}  // namespace tokamak
