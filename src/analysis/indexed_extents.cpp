#include "analysis/indexed_extents.h"

#include <ranges>

#include "base/immortal.h"
#include "compute/rule_table.h"
#include "ir/fields.h"
#include "symbolic/data_type.h"

namespace tokamak {

namespace {

bool isInteger(const TensorView& tensor) { return tensor.dtype() == DataType::I32 || tensor.dtype() == DataType::I64; }

}  // namespace

// In reverse topological order, so that all readers of a tensor come before it.
IndexedExtents::IndexedExtents(const Fusion& fusion) {
  RuleTable rules;
  for (const Expr* expr : fusion.exprs() | std::views::reverse) {
    if (opList(expr->kind()) != OpList::Math) continue;  // a host program's statements index nothing
    const ElementRule& rule = rules.of(*expr);
    if (rule.value == nullptr) continue;
    const std::set<const Scalar*> passed_on = of(*rule.result);
    visitElements(*rule.value, [&](const Element& element) {
      if (element.kind == ElementKind::Load && isInteger(*element.tensor))
        extents_[element.tensor].insert(passed_on.begin(), passed_on.end());
      if (element.kind != ElementKind::Indexed) return;
      visitElements(*element.operands[0], [&](const Element& position) {
        if (position.kind == ElementKind::Load) extents_[position.tensor].insert(element.extent);
      });
    });
  }
}

const std::set<const Scalar*>& IndexedExtents::of(const TensorView& tensor) const {
  static const auto& kNone = *immortal(std::set<const Scalar*>());
  const auto found = extents_.find(&tensor);
  return found == extents_.end() ? kNone : found->second;
}

}  // namespace tokamak
