#include "compute/reduced_axes.h"

#include <algorithm>
#include <set>

namespace tokamak {

const Element* reductionOf(const ElementRule& rule) {
  const Element* element = rule.value.get();
  while (element->kind == ElementKind::Cast) element = element->operands[0].get();
  return element->kind == ElementKind::Reduce ? element : nullptr;
}

std::optional<size_t> reducedAxis(const Element& reduction, const TensorView& operand, int64_t axis) {
  std::set<std::optional<size_t>> found;
  visitElements(reduction, [&](const Element& element) {
    if (element.kind != ElementKind::Load || element.tensor != &operand) return;
    const auto same =
        std::ranges::find(reduction.axes, element.index[static_cast<size_t>(axis)], &ReducedAxis::coordinate);
    found.insert(same == reduction.axes.end() ? std::nullopt
                                              : std::optional(static_cast<size_t>(same - reduction.axes.begin())));
  });
  return found.size() == 1 ? *found.begin() : std::nullopt;
}

}  // namespace tokamak
