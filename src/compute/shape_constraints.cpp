#include "compute/shape_constraints.h"

#include <algorithm>

#include "base/require.h"
#include "compute/rules.h"
#include "ir/fields.h"
#include "ir/ops/math/reshape_op.h"

namespace tokamak {

namespace {

struct Corner {
  ScalarBindings bindings;
  bool is_there = true;  // no coordinate runs over nothing
};

// The last coordinates, or the first.
enum class End : uint8_t { First, Last };

Corner cornerOf(const ElementRule& rule, const ScalarBindings& bindings, End end) {
  Corner corner{bindings, true};
  const auto set = [&](const Scalar* coordinate, const Scalar& extent) {
    const auto size = evaluate(extent, bindings);
    if (!size) return;  // then nothing is known of what it indexes
    corner.is_there = corner.is_there && asInt(*size) > 0;
    corner.bindings[coordinate] = ScalarValue{end == End::First ? int64_t{0} : asInt(*size) - 1};
  };
  for (size_t i = 0; i < rule.coordinates.size(); ++i) set(rule.coordinates[i], *rule.extents[i]);
  visitElements(*rule.value, [&](const Element& element) {
    for (const ReducedAxis& axis : element.axes) set(axis.coordinate, *axis.extent);
  });
  return corner;
}

void requireReads(const Expr& expr, const Element& element, const ScalarBindings& corner) {
  if (element.kind == ElementKind::Choose) return;
  for (const ElementRef& operand : element.operands) requireReads(expr, *operand, corner);
  if (element.kind != ElementKind::Load) return;
  const Axes shape = shapeOf(*element.tensor);
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto index = evaluate(*element.index[i], corner);
    const auto size = evaluate(*shape[i]->visibleExtent(), corner);
    if (!index || !size || shape[i]->isBroadcast()) continue;
    TK_REQUIRE(asInt(*index) >= 0 && asInt(*index) < asInt(*size), Bind,
               "{}: axis {} of {} has size {}, but element {} of it is read", callName(expr), i,
               toString(*element.tensor), asInt(*size), asInt(*index));
  }
}

bool isEmpty(const TensorView& tensor, const ScalarBindings& bindings) {
  return std::ranges::any_of(shapeOf(tensor), [&](const IterDomain* axis) {
    const auto size = evaluate(*axis->visibleExtent(), bindings);
    return size && asInt(*size) == 0;
  });
}

void requireShapeConstraints(const Expr& expr, const ScalarBindings& bindings) {
  const ElementRule rule = ruleOf(expr);
  const Corner first = cornerOf(rule, bindings, End::First);
  // A reshape of no elements to no elements may pair axes of any sizes.
  if (!first.is_there && expr.is<ReshapeOp>() && isEmpty(*asTensor(expr.input(0)), bindings)) return;
  for (const auto& [a, b] : rule.equal_extents) {
    const auto x = evaluate(*a, bindings);
    const auto y = evaluate(*b, bindings);
    TK_REQUIRE(!x || !y || asInt(*x) == asInt(*y), Bind, "{}: {} is {} and {} is {}; they must be equal",
               callName(expr), toString(*a), asInt(*x), toString(*b), asInt(*y));
  }
  if (!first.is_there) return;
  requireReads(expr, *rule.value, first.bindings);
  requireReads(expr, *rule.value, cornerOf(rule, bindings, End::Last).bindings);
}

// Whether the op reads an axis at a coordinate that runs over all of it.
bool isWhole(const ElementRule& rule, const Element& element, size_t axis, const Scalar& size) {
  const Scalar* index = element.index[axis];
  for (size_t i = 0; i < rule.coordinates.size(); ++i) {
    if (rule.coordinates[i] == index) return rule.extents[i] == &size;
  }
  bool is_whole = false;
  visitElements(*rule.value, [&](const Element& each) {
    for (const ReducedAxis& reduced : each.axes)
      is_whole = is_whole || (reduced.coordinate == index && reduced.extent == &size);
  });
  return is_whole;
}

// As requireReads: what a condition guards demands nothing.
bool hasPartialReads(const ElementRule& rule, const Element& element) {
  if (element.kind == ElementKind::Choose) return false;
  if (element.kind == ElementKind::Load) {
    const Axes shape = shapeOf(*element.tensor);
    for (size_t i = 0; i < shape.size(); ++i) {
      if (!shape[i]->isBroadcast() && !isWhole(rule, element, i, *shape[i]->visibleExtent())) return true;
    }
  }
  return std::ranges::any_of(element.operands,
                             [&](const ElementRef& operand) { return hasPartialReads(rule, *operand); });
}

bool isDemanding(const Expr& expr) {
  const ElementRule rule = ruleOf(expr);
  const bool equates =
      std::ranges::any_of(rule.equal_extents, [](const auto& pair) { return pair.first != pair.second; });
  return equates || hasPartialReads(rule, *rule.value);
}

}  // namespace

std::vector<const Expr*> constrainedExprs(const Fusion& fusion) {
  std::vector<const Expr*> exprs;
  for (const Expr* expr : fusion.exprs()) {
    if (expr->list() == OpList::Math && isDemanding(*expr)) exprs.push_back(expr);
  }
  return exprs;
}

void requireShapeConstraints(std::span<const Expr* const> exprs, const ScalarBindings& bindings) {
  for (const Expr* expr : exprs) requireShapeConstraints(*expr, bindings);
}

void requireShapeConstraints(const Fusion& fusion, const ScalarBindings& bindings) {
  for (const Expr* expr : fusion.exprs()) {
    if (expr->list() == OpList::Math) requireShapeConstraints(*expr, bindings);
  }
}

}  // namespace tokamak
