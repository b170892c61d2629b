#include "graph/unify_extents.h"

#include <algorithm>
#include <unordered_set>

#include "analysis/substitute.h"
#include "compute/rules.h"
#include "graph/rewriter.h"
#include "ir/fields.h"
#include "ir/ops/math/pad_op.h"
#include "ir/ops/math/slice_op.h"
#include "symbolic/symbols.h"

namespace tokamak {

namespace {

using Scalars = std::vector<Scalar*>;

// Calls `visit(Scalar*)` for every scalar of tensors' axes and ops' attributes.
template <class Visit>
void visitScalars(const Expr& expr, const Visit& visit) {
  for (const Field& field : fieldsOf(expr)) {
    if (auto* const* scalar = std::get_if<Scalar*>(&field.value); scalar != nullptr && *scalar != nullptr)
      visit(*scalar);
    if (const auto* scalars = std::get_if<Scalars>(&field.value)) std::ranges::for_each(*scalars, visit);
    if (auto* const* val = std::get_if<Val*>(&field.value); val != nullptr && *val != nullptr) {
      if (Scalar* scalar = asScalar(*val)) visit(scalar);
    }
  }
}

template <class Visit>
void visitExtents(const TensorView& tensor, const Visit& visit) {
  const TensorDomain& domain = tensor.domain();
  for (const Axes* axes : {&domain.root, &domain.logical, &domain.loop, &domain.allocation}) {
    for (const IterDomain* axis : *axes) {
      visit(axis->extent());
      if (axis->expandedExtent() != nullptr) visit(axis->expandedExtent());
    }
  }
}

// Classes of scalars that must be equal, and the member of each that stays.
class EqualExtents {
 public:
  explicit EqualExtents(const Fusion& fusion) {
    for (const Expr* expr : fusion.exprs()) {
      if (!expr->is<SliceOp>() && !expr->is<PadOp>()) continue;
      visitScalars(*expr, [&](const Scalar* scalar) { fix(*scalar); });
    }
    // (An extent computed from it might become the constant 1, a broadcast axis.)
    for (const TensorView* tensor : fusion.allTensors()) {
      visitExtents(*tensor, [&](Scalar* extent) {
        if (!extent->isSymbol()) fix(*extent);
      });
    }
    for (const Val* input : fusion.inputs()) {
      if (input->kind() == ValKind::Scalar) fixed_.insert(static_cast<const Scalar*>(input));
    }
    std::vector<std::pair<Scalar*, Scalar*>> equal;
    for (const Expr* expr : fusion.exprs()) {
      if (expr->list() != OpList::Math) continue;
      const ElementRule rule = ruleOf(*expr);
      equal.insert(equal.end(), rule.equal_extents.begin(), rule.equal_extents.end());
    }
    // (A result has the constant if operands have a constant and a computed extent; this must not change.)
    for (const auto& [a, b] : equal) {
      if (!a->operands().empty()) fixed_.insert(b);
      if (!b->operands().empty()) fixed_.insert(a);
    }
    for (const auto& [a, b] : equal) join(a, b);
  }

  Scalar* representative(Scalar* scalar) {
    const auto found = replaced_by_.find(scalar);
    return found == replaced_by_.end() ? scalar : found->second = representative(found->second);
  }

 private:
  void join(Scalar* a, Scalar* b) {
    a = representative(a);
    b = representative(b);
    if (a == b) return;
    if (b->isConstant() || (!a->isConstant() && b->id() < a->id())) std::swap(a, b);
    // (1 would make it a broadcast axis.)
    const bool mayStay = a->isSymbol() || (a->isConstant() && !a->isConstantInt(1));
    if (mayStay && b->isSymbol() && !fixed_.contains(b)) replaced_by_[b] = a;
  }

  void fix(const Scalar& scalar) {
    const std::vector<const Scalar*> symbols = symbolsOf(scalar);
    fixed_.insert(symbols.begin(), symbols.end());
  }

  std::unordered_map<Scalar*, Scalar*> replaced_by_;
  std::unordered_set<const Scalar*> fixed_;
};

// Null if nothing changes.
std::unique_ptr<Fusion> unifyOnce(const Fusion& fusion) {
  // (Rules make scalars in their fusion.)
  const std::unique_ptr<Fusion> source = cloneFusion(fusion);
  EqualExtents equal(*source);
  Substitution unified(*source);
  bool is_changed = false;
  for (Scalar* symbol : source->allSymbols()) {
    if (equal.representative(symbol) == symbol) continue;
    unified.set(*symbol, equal.representative(symbol));
    is_changed = true;
  }
  if (!is_changed) return nullptr;
  auto target = std::make_unique<Fusion>(source->name());
  Cloner cloner(*target);
  const auto substitute = [&](Scalar* scalar) {
    if (!cloner.contains(scalar)) cloner.substitute(scalar, cloner.clone(unified(scalar)));
  };
  for (TensorView* tensor : source->allTensors()) visitExtents(*tensor, substitute);
  for (const Expr* expr : source->allExprs()) visitScalars(*expr, substitute);
  std::ranges::for_each(source->allSymbols(), substitute);
  const std::vector<std::pair<Scalar*, int64_t>> sizes(source->defaultSizes().begin(), source->defaultSizes().end());
  source->defaultSizes().clear();
  for (const auto& [symbol, size] : sizes) {
    if (Scalar* kept = unified(symbol); kept->isSymbol()) source->defaultSizes().try_emplace(kept, size);
  }
  cloneInto(*source, cloner);
  return target;
}

}  // namespace

std::unique_ptr<Fusion> unifyExtents(const Fusion& fusion) {
  // To a fixed point: with fewer symbols ops may say more, as reshapes that keep an axis whole.
  std::unique_ptr<Fusion> unified = cloneFusion(fusion);
  while (std::unique_ptr<Fusion> next = unifyOnce(*unified)) unified = std::move(next);
  return unified;
}

}  // namespace tokamak
