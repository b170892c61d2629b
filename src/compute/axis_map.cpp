#include "compute/axis_map.h"

#include <algorithm>

#include "compute/rules.h"

namespace tokamak {

AxisMap::AxisMap(const Expr& expr) : AxisMap(ruleOf(expr)) {}
AxisMap::AxisMap(ElementRule rule) : rule_(std::move(rule)) {}

bool AxisMap::isSameExtent(const Scalar* a, const Scalar* b) const {
  if (a == b) return true;
  return std::ranges::any_of(rule_.equal_extents, [&](const auto& pair) {
    return (pair.first == a && pair.second == b) || (pair.first == b && pair.second == a);
  });
}

OperandCoordinateUse AxisMap::use(const TensorView& operand, int64_t axis) const {
  const auto position = static_cast<size_t>(axis);
  const Scalar* coordinate = rule_.coordinates[position];
  const Axes shape = shapeOf(operand);
  OperandCoordinateUse found;
  bool is_first_load = true;
  visitElements(*rule_.value, [&](const Element& element) {
    if (element.kind != ElementKind::Load || element.tensor != &operand) return;
    std::vector<int64_t> axes;
    CoordinateUse use = CoordinateUse::NotUsed;
    for (size_t i = 0; i < element.index.size(); ++i) {
      if (!mentions(*element.index[i], *coordinate)) continue;
      const bool is_first = use == CoordinateUse::NotUsed;
      const bool is_exact = element.index[i] == coordinate;
      const bool is_whole = is_exact && isSameExtent(shape[i]->visibleExtent(), rule_.extents[position]);
      use = is_first && is_whole ? CoordinateUse::Identity : CoordinateUse::Other;
      if (is_exact) axes.push_back(static_cast<int64_t>(i));
    }
    // A tensor read in two ways, say as the rows and as the columns of a product, has no one axis that goes along.
    const bool agrees = is_first_load || (found.use == use && found.axes == axes);
    is_first_load = false;
    found.use = agrees ? use : CoordinateUse::Other;
    for (const int64_t a : axes) {
      if (!std::ranges::binary_search(found.axes, a)) found.axes.insert(std::ranges::upper_bound(found.axes, a), a);
    }
  });
  return found;
}

bool AxisMap::isIndependentAlong(int64_t axis) const {
  bool is_independent = true;
  visitElements(*rule_.value, [&](const Element& element) {
    if (element.kind == ElementKind::Load) is_independent &= use(*element.tensor, axis).use != CoordinateUse::Other;
  });
  return is_independent;
}

bool AxisMap::dependsOnPosition(int64_t axis) const {
  const Scalar* coordinate = rule_.coordinates[static_cast<size_t>(axis)];
  bool depends = false;
  visitElements(*rule_.value, [&](const Element& element) {
    if (element.scalar != nullptr) depends |= mentions(*element.scalar, *coordinate);
  });
  return depends;
}

}  // namespace tokamak
