#include "host/lower/dropped_axes.h"

#include <algorithm>

#include "analysis/substitute.h"
#include "base/error.h"
#include "compute/rules.h"
#include "host/ir/restrict_op.h"
#include "ir/clone.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

// Compares the elements of two rules: one at an index of an axis, one without that axis.
class ElementComparison {
 public:
  ElementComparison(Fusion& fusion, const ElementRule& whole, int64_t axis, const AxisSlices& slices)
      : slices_(slices), without_(fusion), plain_(fusion), gone_(fusion.symbol("gone")) {
    size_t count = whole.coordinates.size();
    visitElements(*whole.value, [&](const Element& element) {
      count += element.axes.size() + (element.kind == ElementKind::Indexed ? 1 : 0);
    });
    // (Coordinates of reduced axes come after those of the result.)
    const auto first = static_cast<size_t>(axis);
    without_.set(*fusion.coordinate(first), gone_);
    for (size_t i = first + 1; i < count; ++i) without_.set(*fusion.coordinate(i), fusion.coordinate(i - 1));
  }

  bool areSame(const Element& whole, const Element& less) {
    const bool is_alike = whole.kind == less.kind && whole.dtype == less.dtype && whole.function == less.function &&
                          whole.reduction == less.reduction && whole.operands.size() == less.operands.size();
    if (!is_alike || !areSame(whole.scalar, less.scalar) || !areSame(whole.extent, less.extent)) return false;
    if (!areSameLoads(whole, less) || !std::ranges::equal(whole.axes, less.axes, [&](const auto& a, const auto& b) {
          return areSame(a.coordinate, b.coordinate) && areSame(a.extent, b.extent);
        }))
      return false;
    return std::ranges::equal(whole.operands, less.operands,
                              [&](const ElementRef& a, const ElementRef& b) { return areSame(*a, *b); });
  }

 private:
  bool areSame(Scalar* whole, Scalar* less) {
    if (whole == nullptr || less == nullptr) return whole == less;
    return simplify(without_(whole)) == simplify(plain_(less));
  }

  bool areSameLoads(const Element& whole, const Element& less) {
    if (whole.tensor == nullptr || less.tensor == nullptr) return whole.tensor == less.tensor;
    const auto cut = slices_.find(whole.tensor);
    if (cut == slices_.end()) return whole.tensor == less.tensor && areSameIndexes(whole.index, less.index);
    if (cut->second.slice != less.tensor) return false;
    std::vector<Scalar*> left = whole.index;
    const auto gone = left.begin() + static_cast<std::ptrdiff_t>(cut->second.axis);
    const bool is_at_index = without_(*gone) == gone_ || (*gone)->isConstantInt(0);
    left.erase(gone);
    return is_at_index && areSameIndexes(left, less.index);
  }

  bool areSameIndexes(const std::vector<Scalar*>& whole, const std::vector<Scalar*>& less) {
    return std::ranges::equal(whole, less, [&](Scalar* a, Scalar* b) { return areSame(a, b); });
  }

  const AxisSlices& slices_;
  Substitution without_;
  Substitution plain_;
  Scalar* gone_;
};

bool worksAlong(const Expr& expr, const AxisSlices& slices) {
  return std::ranges::any_of(fieldsOf(expr), [&](const Field& field) {
    if (field.relation != AxisRelation::Number || field.of == nullptr) return false;
    const auto found = slices.find(field.of);
    return found != slices.end() && std::get<int64_t>(field.value) == found->second.axis;
  });
}

// The op on the slices with the result of its type rule, or null if it has none.
const Expr* definedOn(Fusion& fusion, const Expr& restricted) {
  Fields fields = fieldsOf(restricted);
  std::erase_if(fields, [](const Field& field) {
    return field.role == FieldRole::Result || field.role == FieldRole::ResultList;
  });
  try {
    return defineExpr(fusion, restricted.kind(), fields);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Definition) throw;
    return nullptr;
  }
}

}  // namespace

bool isSameWithoutAxis(const Expr& expr, int64_t axis, const DroppedAxes& dropped) {
  Fusion scratch("");
  Cloner cloner(scratch);
  const Expr& whole = *cloner.clone(expr);
  AxisSlices slices;
  for (const auto& [tensor, number] : dropped) {
    const TensorView* copy = cloner.clone(const_cast<TensorView*>(tensor));
    const IterDomain& gone = *shapeOf(*copy)[static_cast<size_t>(number)];
    slices[copy] = {.slice = makeSliceTensor(scratch, *copy, logicalAxisNumber(*copy, gone), nullptr), .axis = number};
  }
  if (worksAlong(whole, slices)) return false;
  const Expr& restricted = *restrictOp(scratch, whole, slices);
  const Expr* defined = definedOn(scratch, restricted);
  if (defined == nullptr) return false;
  const auto rankOf = [](const Expr& op) { return shapeOf(*asTensor(op.output(0))).size(); };
  if (rankOf(*defined) != rankOf(restricted)) return false;
  const ElementRule rule = ruleOf(whole);
  return ElementComparison(scratch, rule, axis, slices).areSame(*rule.value, *ruleOf(*defined).value);
}

}  // namespace tokamak
