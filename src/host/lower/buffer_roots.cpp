#include "host/lower/buffer_roots.h"

#include "ir/ops/host/allocate.h"
#include "ir/ops/host/hir_alias_select.h"
#include "ir/ops/host/hir_alias_slice.h"
#include "ir/ops/math/load_store_op.h"

namespace tokamak {

// (A tensor with memory keeps it: later statements that compute it write there.)
void BufferRoots::bind(const TensorView* view, TensorView* source) {
  if (root(source) != view) sources_.emplace(view, source);
}

BufferRoots::BufferRoots(const HostIrContainer& program) : program_(&program) {
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    if (const auto* allocate = expr.as<Allocate>()) allocated_.insert(program.resolveAlias(allocate->buffer));
    if (const auto* select = expr.as<HirAliasSelect>()) bind(select->out, select->in);
    if (const auto* slice = expr.as<HirAliasSlice>()) bind(slice->out, slice->in);
  });
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    const auto* set = expr.as<LoadStoreOp>();
    if (set == nullptr || sources_.contains(set->out) || program.isInput(program.resolveAlias(set->out))) return;
    const bool binds =
        !allocated_.contains(program.resolveAlias(set->out)) && set->in->memoryKind() == set->out->memoryKind();
    if (binds) bind(set->out, set->in);
  });
  for (const auto& [view, source] : program.views()) {
    if (!allocated_.contains(program.resolveAlias(view))) bind(view, source);
  }
  for (Val* input : program.inputs()) {
    if (TensorView* tensor = asTensor(input)) callers_.insert(root(tensor));
  }
  for (TensorView* output : program.outputs()) callers_.insert(root(output));
}

TensorView* BufferRoots::root(TensorView* tensor) const {
  tensor = program_->resolveAlias(tensor);
  for (auto source = sources_.find(tensor); source != sources_.end(); source = sources_.find(tensor)) {
    tensor = program_->resolveAlias(source->second);
  }
  return tensor;
}

}  // namespace tokamak
