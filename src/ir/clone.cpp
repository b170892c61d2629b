#include "ir/clone.h"

#include <algorithm>

#include "ir/ops/host/post_on_stream.h"

namespace tokamak {

Val* Cloner::clone(Val* val) {
  if (val == nullptr) return nullptr;
  if (const auto found = vals_.find(val); found != vals_.end()) return found->second;
  Val* copy = copyOf(val);
  vals_[val] = copy;
  return copy;
}

Val* Cloner::copyOf(Val* val) {
  if (TensorView* tensor = asTensor(val)) return copyOf(*tensor);
  if (val->kind() == ValKind::Stream) return target_->stream(clone(static_cast<StreamVal*>(val)->index()));
  const auto* scalar = static_cast<const Scalar*>(val);
  if (scalar->isConstant()) return target_->constant(scalar->value(), scalar->dtype());
  if (scalar->isSymbol()) return target_->symbol(scalar->name(), scalar->dtype());
  std::vector<Scalar*> operands;
  for (Scalar* operand : scalar->operands()) operands.push_back(clone(operand));
  return target_->rawScalar(scalar->op(), scalar->dtype(), operands, scalar->function());
}

TensorView* Cloner::copyOf(TensorView& tensor) {
  TensorDomain domain = tensor.domain();
  domain.root = cloneAxes(domain.root);
  domain.logical = cloneAxes(domain.logical);
  domain.loop = cloneAxes(domain.loop);
  domain.allocation = cloneAxes(domain.allocation);
  TensorView* copy = target_->tensor(tensor.dtype(), std::move(domain));
  copy->setNamesOf(tensor);
  copy->setMemoryType(tensor.memoryType());
  copy->setMemoryKind(tensor.memoryKind());
  copy->setMesh(tensor.mesh());
  copy->setPartials(tensor.partials());
  copy->setCircularBuffer(tensor.circularBuffer());
  copy->setBufferPadding(tensor.bufferPadding());
  return copy;
}

Axes Cloner::cloneAxes(const Axes& axes) {
  Axes copies;
  for (IterDomain* axis : axes) copies.push_back(clone(axis));
  return copies;
}

IterDomain* Cloner::clone(IterDomain* axis) {
  if (axis == nullptr) return nullptr;
  if (const auto found = axes_.find(axis); found != axes_.end()) return found->second;
  if (axis->definition() != nullptr) {
    cloneDomainExpr(*axis->definition());
    return axes_.at(axis);
  }
  IterDomain* copy = target_->axis({.kind = axis->kind(),
                                    .extent = clone(axis->extent()),
                                    .expanded_extent = clone(axis->expandedExtent()),
                                    .is_rfactor = axis->isRFactor(),
                                    .parallel = axis->parallelType()});
  axes_[axis] = copy;
  return copy;
}

const DomainExpr* Cloner::cloneDomainExpr(const DomainExpr& expr) {
  if (const auto found = domain_exprs_.find(&expr); found != domain_exprs_.end()) return found->second;
  DomainExpr copy = expr;
  for (size_t i = 0; i < 2; ++i) copy.in[i] = clone(expr.in[i]);
  for (size_t i = 0; i < 2; ++i) {
    const IterDomain* out = expr.out[i];
    if (out == nullptr) continue;
    copy.out[i] = target_->axis({.kind = out->kind(),
                                 .extent = clone(out->extent()),
                                 .expanded_extent = clone(out->expandedExtent()),
                                 .is_rfactor = out->isRFactor(),
                                 .parallel = out->parallelType()});
    axes_[expr.out[i]] = copy.out[i];
  }
  copy.factor = clone(expr.factor);
  const DomainExpr* made = target_->domainExpr(copy);
  domain_exprs_[&expr] = made;
  return made;
}

Expr* Cloner::clone(const Expr& expr) {
  Fields fields = fieldsOf(expr);
  for (Field& field : fields) {
    std::visit(
        [&](auto& value) {
          using T = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<T, Val*> || std::is_same_v<T, Scalar*> || std::is_same_v<T, IterDomain*> ||
                        std::is_same_v<T, Block>) {
            value = clone(value);
          } else if constexpr (std::is_same_v<T, std::vector<Val*>> || std::is_same_v<T, std::vector<Scalar*>>) {
            for (auto& element : value) element = clone(element);
          }
        },
        field.value);
  }
  return target_->append(makeExpr(expr.kind(), fields));
}

Block Cloner::clone(const Block& block) {
  Block copy;
  for (const Expr* expr : block.exprs) copy.exprs.push_back(clone(*expr));
  return copy;
}

void cloneInto(const Fusion& source, Cloner& cloner) {
  Fusion& target = cloner.target();
  for (Val* input : source.inputs()) {
    Val* copy = cloner.clone(input);
    const Scalar* scalar = asScalar(copy);
    // A constant may have been put in its place.
    if (scalar == nullptr || !scalar->isConstant()) target.addInput(copy);
  }
  // A schedule may have put later tensors in front of earlier ones; copies are made in the same order, which names
  // unnamed ones.
  std::vector<TensorView*> results;
  for (const Expr* expr : source.allExprs()) std::ranges::copy(tensorsOf(expr->outputs()), std::back_inserter(results));
  if (!source.isHostProgram() && !std::ranges::is_sorted(results, {}, &TensorView::id)) {
    std::ranges::sort(results, {}, &TensorView::id);
    for (TensorView* tensor : results) cloner.clone(tensor);
  }
  for (const Expr* expr : source.allExprs()) cloner.clone(*expr);
  for (TensorView* output : source.outputs()) target.addOutput(cloner.clone(output));
  for (const auto& [output, alias] : source.outputAliases()) {
    target.aliasOutput(cloner.clone(output), cloner.clone(alias.target), alias.is_hidden);
  }
  for (const auto& [symbol, value] : source.defaultSizes()) target.defaultSizes()[cloner.clone(symbol)] = value;
}

std::unique_ptr<Fusion> cloneFusion(const Fusion& source) {
  auto target = std::make_unique<Fusion>(source.name());
  Cloner cloner(*target);
  cloneInto(source, cloner);
  return target;
}

}  // namespace tokamak
