#include "graph/infer_stride_order.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "compute/axis_map.h"
#include "ir/clone.h"

namespace tokamak {

namespace {

// Axes (of the visible shape), slowest first.
using Order = std::vector<int64_t>;

Order fromRanks(const std::vector<int64_t>& ranks) {
  Order order(ranks.size());
  for (size_t i = 0; i < ranks.size(); ++i)
    order[ranks.size() - 1 - static_cast<size_t>(ranks[i])] = static_cast<int64_t>(i);
  return order;
}

Order orderOf(const TensorView& tensor) {
  const TensorDomain& domain = tensor.domain();
  const Axes shape = shapeOf(tensor);
  Order order;
  if (!domain.allocation.empty()) {
    for (const IterDomain* axis : withoutReductions(domain.allocation))
      order.push_back(std::ranges::find(shape, axis) - shape.begin());
    const bool is_whole = order.size() == shape.size() && std::ranges::find(order, std::ssize(shape)) == order.end();
    if (is_whole) return order;
  }
  if (domain.stride_order) return fromRanks(*domain.stride_order);
  if (domain.stride_order_hint) return fromRanks(*domain.stride_order_hint);
  order.resize(shape.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// The orders that tensors get from inputs.
class Orders {
 public:
  explicit Orders(const Fusion& fusion) {
    for (Val* input : fusion.inputs()) {
      if (const TensorView* tensor = asTensor(input)) known_[tensor] = orderOf(*tensor);
    }
    for (const Expr* expr : fusion.exprs()) {
      for (const TensorView* out : tensorsOf(expr->outputs())) {
        if (std::optional<Order> order = hasLayout(*out) ? orderOf(*out) : inferred(*expr, *out))
          known_[out] = *std::move(order);
      }
    }
  }

  /// Null for row-major.
  const Order* of(const TensorView& tensor) const {
    const auto known = known_.find(&tensor);
    return known == known_.end() || std::ranges::is_sorted(known->second) ? nullptr : &known->second;
  }

 private:
  std::optional<Order> inferred(const Expr& expr, const TensorView& out) const {
    if (expr.info().is_library || expr.list() != OpList::Math || expr.outputs().size() != 1) return std::nullopt;
    const TensorView* most = nullptr;
    for (const TensorView* in : tensorsOf(expr.inputs())) {
      if (known_.contains(in) && (most == nullptr || storedAxes(*in) > storedAxes(*most))) most = in;
    }
    if (most == nullptr) return std::nullopt;
    if (of(*most) == nullptr) return rowMajor(out);
    return followed(AxisMap(expr), *most, out).value_or(rowMajor(out));
  }

  static Order rowMajor(const TensorView& tensor) {
    Order order(shapeOf(tensor).size());
    std::iota(order.begin(), order.end(), 0);
    return order;
  }

  static int64_t storedAxes(const TensorView& tensor) {
    return std::ranges::count_if(shapeOf(tensor), [](const IterDomain* axis) { return !axis->isBroadcast(); });
  }

  // The result's axes in the operand's order. A broadcast axis, which the operand may lack, comes before the axis that
  // it precedes in the shape.
  std::optional<Order> followed(const AxisMap& map, const TensorView& in, const TensorView& out) const {
    const Axes shape = shapeOf(out);
    const Axes in_shape = shapeOf(in);
    std::vector<int64_t> place(in_shape.size(), -1);  // per axis of the operand: the result's
    std::vector<bool> is_placed(shape.size(), false);
    for (size_t i = 0; i < shape.size(); ++i) {
      const OperandCoordinateUse use = map.use(in, static_cast<int64_t>(i));
      if (use.use == CoordinateUse::Identity) {
        place[static_cast<size_t>(use.axes[0])] = static_cast<int64_t>(i);
        is_placed[i] = true;
      } else if (!shape[i]->isBroadcast()) {
        return std::nullopt;
      }
    }
    Order order;
    for (const int64_t axis : known_.at(&in)) {
      const int64_t first = place[static_cast<size_t>(axis)];
      if (first >= 0) order.push_back(first);
    }
    for (size_t i = shape.size(); i-- > 0;) {
      if (is_placed[i]) continue;
      const auto next = std::ranges::find(order, static_cast<int64_t>(i) + 1);
      order.insert(next, static_cast<int64_t>(i));
    }
    return order;
  }

  std::unordered_map<const TensorView*, Order> known_;
};

}  // namespace

bool hasLayout(const TensorView& tensor) {
  const TensorDomain& domain = tensor.domain();
  return domain.stride_order || domain.stride_order_hint || !domain.allocation.empty();
}

std::vector<int64_t> strideRanks(const std::vector<int64_t>& slowest_first) {
  std::vector<int64_t> ranks(slowest_first.size());
  for (size_t i = 0; i < slowest_first.size(); ++i)
    ranks[static_cast<size_t>(slowest_first[i])] = static_cast<int64_t>(slowest_first.size() - 1 - i);
  return ranks;
}

void setOutputStrideOrder(TensorView& output, std::vector<int64_t> order) {
  TK_REQUIRE(output.fusion().isOutput(&output), Definition, "setOutputStrideOrder: {} is no output of the fusion",
             toString(output));
  std::vector<int64_t> sorted = order;
  std::ranges::sort(sorted);
  std::vector<int64_t> all(shapeOf(output).size());
  std::iota(all.begin(), all.end(), 0);
  TK_REQUIRE(sorted == all, Definition,
             "setOutputStrideOrder: [{}] for {}; each of its {} axes has a rank of its own, 0 the fastest",
             joined(order), toString(output), all.size());
  output.mutableDomain().stride_order = std::move(order);
}

void hintStrideOrder(const Fusion& fusion, std::span<TensorView* const> tensors) {
  const Orders orders(fusion);
  for (TensorView* tensor : tensors) {
    const Order* order = orders.of(*tensor);
    const bool may_follow = tensor->definition() != nullptr && !fusion.outputAliases().contains(tensor);
    if (may_follow && order != nullptr && !hasLayout(*tensor))
      tensor->mutableDomain().stride_order_hint = strideRanks(*order);
  }
}

std::unique_ptr<Fusion> inferStrideOrder(const Fusion& fusion) {
  std::unique_ptr<Fusion> result = cloneFusion(fusion);
  hintStrideOrder(*result, result->outputs());
  return result;
}

}  // namespace tokamak
