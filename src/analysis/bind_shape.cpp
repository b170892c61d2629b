#include "analysis/bind_shape.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/require.h"

namespace tokamak {

namespace {

void requireRank(const TensorView& tv, const Axes& axes, size_t rank) {
  TK_REQUIRE(axes.size() == rank, Bind, "{} has {} axes, but a tensor of rank {} was given", toString(tv), axes.size(),
             rank);
}

// The last unknown symbol of an extent of this size, with its value: 3 where ( n * 4 ) is 12. Nothing: there is none,
// or more than one, or no integer fits.
std::optional<std::pair<const Scalar*, int64_t>> solved(const Scalar& extent, int64_t size,
                                                        const ScalarBindings& bindings) {
  if (extent.isSymbol()) {
    if (size < 0 || bindings.contains(&extent)) return std::nullopt;
    return std::pair(&extent, size);
  }
  if (extent.operands().size() != 2) return std::nullopt;
  const std::optional<ScalarValue> left = evaluate(*extent.operand(0), bindings);
  const std::optional<ScalarValue> right = evaluate(*extent.operand(1), bindings);
  if (left.has_value() == right.has_value()) return std::nullopt;
  const int64_t known = asInt(left ? *left : *right);
  const Scalar& open = *extent.operand(left ? 1 : 0);
  int64_t rest = 0;
  switch (extent.op()) {
    case ScalarOp::Mul:
      if (known == 0 || size % known != 0) return std::nullopt;
      return solved(open, size / known, bindings);
    case ScalarOp::Add:
      if (__builtin_sub_overflow(size, known, &rest)) return std::nullopt;
      return solved(open, rest, bindings);
    default: return std::nullopt;
  }
}

}  // namespace

std::vector<size_t> memoryOrder(const TensorView& tv) {
  const Axes axes = shapeOf(tv);
  std::vector<size_t> order(axes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const TensorDomain& domain = tv.domain();
  if (const auto& required = domain.stride_order ? domain.stride_order : domain.stride_order_hint) {
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return (*required)[a] > (*required)[b]; });
  } else if (!domain.allocation.empty()) {
    const Axes stored = withoutReductions(domain.allocation);
    const auto place = [&](size_t i) { return std::ranges::find(stored, axes[i]) - stored.begin(); };
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return place(a) < place(b); });
  }
  return order;
}

void bindShape(const TensorView& tv, std::span<const int64_t> sizes, ScalarBindings& bindings) {
  const Axes axes = shapeOf(tv);
  requireRank(tv, axes, sizes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    const Scalar* extent = axes[i]->visibleExtent();
    TK_REQUIRE(sizes[i] >= 0, Bind, "{}: the size of axis {} is {}; sizes cannot be negative", toString(tv), i,
               sizes[i]);
    if (!extent->isSymbol()) continue;
    const auto [bound, is_new] = bindings.emplace(extent, ScalarValue{sizes[i]});
    TK_REQUIRE(is_new || asInt(bound->second) == sizes[i], Bind, "{}: axis {} has size {}, but {} is {} elsewhere",
               toString(tv), i, sizes[i], toString(*extent), asInt(bound->second));
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const Scalar& extent = *axes[i]->visibleExtent();
    if (extent.isSymbol()) continue;
    if (const auto found = solved(extent, sizes[i], bindings))
      bindings.emplace(found->first, ScalarValue{found->second});
  }
}

void requireLayout(const TensorView& tv, std::span<const int64_t> sizes, std::span<const int64_t> strides,
                   const ScalarBindings& bindings) {
  const Axes axes = shapeOf(tv);
  requireRank(tv, axes, sizes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto extent = evaluate(*axes[i]->visibleExtent(), bindings);
    TK_REQUIRE(!extent || asInt(*extent) == sizes[i], Bind, "{}: axis {} must have size {} ({}), but has {}",
               toString(tv), i, asInt(*extent), toString(*axes[i]->visibleExtent()), sizes[i]);
    TK_REQUIRE(strides[i] >= 0, Bind, "{}: the stride of axis {} is {}; strides cannot be negative", toString(tv), i,
               strides[i]);
    const bool is_expanded = axes[i]->isBroadcast() && sizes[i] > 1;
    TK_REQUIRE(!is_expanded || strides[i] == 0, Bind,
               "{}: axis {} is an expanded broadcast axis; its stride must be 0, not {}", toString(tv), i, strides[i]);
  }
  if (std::ranges::find(sizes, 0) != sizes.end()) return;
  // A dense axis has no gap to the next stored one. (The stride of an axis of size 1 means nothing.)
  const TensorDomain& domain = tv.domain();
  const Axes& stored = domain.allocation.empty() ? domain.logical : domain.allocation;
  const auto isDense = [&](const IterDomain* axis) {
    const auto found = std::ranges::find(stored, axis) - stored.begin();
    return static_cast<size_t>(found) >= domain.contiguity.size() ||
           domain.contiguity[static_cast<size_t>(found)].value_or(false);
  };
  int64_t expected = 1;
  const std::vector<size_t> order = memoryOrder(tv);
  for (auto position = order.rbegin(); position != order.rend(); ++position) {
    const size_t i = *position;
    if (axes[i]->isBroadcast()) continue;
    if (sizes[i] != 1) {
      TK_REQUIRE(
          !isDense(axes[i]) || strides[i] == expected, Bind,
          "{}: axis {} must be dense with stride {}, but its stride is {}; declare the tensor strided or copy it",
          toString(tv), i, expected, strides[i]);
      TK_REQUIRE(strides[i] >= expected || domain.stride_order == std::nullopt, Bind,
                 "{}: the stride {} of axis {} is smaller than the declared stride order allows ({})", toString(tv),
                 strides[i], i, expected);
      expected = strides[i] * sizes[i];
    }
  }
}

std::vector<int64_t> sizesOf(const TensorView& tv, const ScalarBindings& bindings) {
  std::vector<int64_t> sizes;
  for (const IterDomain* axis : shapeOf(tv)) {
    sizes.push_back(evaluateInt(*axis->visibleExtent(), bindings));
    TK_REQUIRE(sizes.back() >= 0, Bind, "{}: the size of axis {} comes out as {}; sizes cannot be negative",
               toString(tv), sizes.size() - 1, sizes.back());
  }
  return sizes;
}

std::vector<int64_t> freshStrides(const TensorView& tv, std::span<const int64_t> sizes) {
  const Axes axes = shapeOf(tv);
  std::vector<int64_t> strides(axes.size(), 0);
  int64_t next = 1;
  const std::vector<size_t> order = memoryOrder(tv);
  for (auto position = order.rbegin(); position != order.rend(); ++position) {
    const size_t i = *position;
    if (axes[i]->isBroadcast()) continue;
    strides[i] = next;
    TK_REQUIRE(!__builtin_mul_overflow(next, std::max<int64_t>(sizes[i], 1), &next), OutOfMemory,
               "{}: its number of elements does not fit 63 bits", toString(tv));
  }
  return strides;
}

int64_t spanOf(std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  int64_t last = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    int64_t reach = 0;
    const bool overflows =
        __builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) || __builtin_add_overflow(last, reach, &last);
    TK_REQUIRE(!overflows, OutOfMemory, "a tensor of size {} with stride {} along axis {} does not fit 63 bits",
               sizes[i], strides[i], i);
  }
  return last + 1;
}

}  // namespace tokamak
