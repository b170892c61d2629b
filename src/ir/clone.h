// Cloner: copies nodes of one fusion into another.
#pragma once

#include <memory>
#include <unordered_map>

#include "ir/fields.h"
#include "ir/fusion.h"

namespace tokamak {

/// Maps nodes of a source fusion to their copies in a target, copying on first sight. `substitute` sets a copy by hand.
/// Thread safety: one thread at a time. It only reads the source fusion and changes the target.
class Cloner {
 public:
  explicit Cloner(Fusion& target) : target_(&target) {}

  Fusion& target() const { return *target_; }

  Val* clone(Val* val);
  TensorView* clone(TensorView* tensor) { return static_cast<TensorView*>(clone(static_cast<Val*>(tensor))); }
  Scalar* clone(Scalar* scalar) { return static_cast<Scalar*>(clone(static_cast<Val*>(scalar))); }
  IterDomain* clone(IterDomain* axis);
  /// Copies the expression with its operands and results, and appends the copy to the target.
  Expr* clone(const Expr& expr);
  Block clone(const Block& block);

  void substitute(Val* from, Val* to) { vals_[from] = to; }
  void substitute(IterDomain* from, IterDomain* to) { axes_[from] = to; }
  bool contains(Val* val) const { return vals_.contains(val); }

 private:
  Val* copyOf(Val* val);
  TensorView* copyOf(TensorView& tensor);
  Axes cloneAxes(const Axes& axes);
  const DomainExpr* cloneDomainExpr(const DomainExpr& expr);

  Fusion* target_;
  std::unordered_map<Val*, Val*> vals_;
  std::unordered_map<IterDomain*, IterDomain*> axes_;
  std::unordered_map<const DomainExpr*, const DomainExpr*> domain_exprs_;
};

/// Copies everything: nodes, inputs, outputs, aliases, default sizes.
std::unique_ptr<Fusion> cloneFusion(const Fusion& source);
void cloneInto(const Fusion& source, Cloner& cloner);

}  // namespace tokamak
