#include "graph/fold_empties.h"

#include <algorithm>

#include "graph/remove_dead.h"
#include "graph/replacement.h"
#include "ir/ops/math/cat_op.h"
#include "ir/ops/math/full_op.h"
#include "ir/ops/math/iota_op.h"
#include "ir/ops/math/linear_op.h"
#include "ir/ops/math/load_store_op.h"
#include "ir/ops/math/matmul_op.h"
#include "ir/ops/math/pad_op.h"
#include "ir/ops/math/reduction_op.h"

namespace tokamak {

namespace {

bool isEmpty(const TensorView& tensor) {
  return std::ranges::any_of(shapeOf(tensor),
                             [](const IterDomain* axis) { return axis->visibleExtent()->isConstantInt(0); });
}

// The value of all elements of an op's result that has no operand elements, or null.
Scalar* valueWithoutElements(const Expr& expr, Cloner& cloner) {
  Fusion& target = cloner.target();
  if (const auto* op = expr.as<ReductionOp>(); op != nullptr && isEmpty(*op->in))
    return target.constant(reductionIdentity(op->op, op->out->dtype()), op->out->dtype());
  const auto zero = [&](const TensorView& out) { return target.constant(ScalarValue{int64_t{0}}, out.dtype()); };
  if (const auto* op = expr.as<MatmulOp>(); op != nullptr && isEmpty(*op->a) && isEmpty(*op->b)) return zero(*op->out);
  if (const auto* op = expr.as<LinearOp>();
      op != nullptr && op->bias == nullptr && isEmpty(*op->in) && isEmpty(*op->weight))
    return zero(*op->out);
  if (const auto* op = expr.as<PadOp>(); op != nullptr && isEmpty(*op->in)) return cloner.clone(op->value);
  return nullptr;
}

bool dropEmptyParts(const Fusion& source, const Expr& expr, const CatOp& op, Cloner& cloner) {
  CatOp others{.axis = op.axis};
  for (TensorView* in : op.ins) {
    if (!isEmpty(*in)) others.ins.push_back(cloner.clone(in));
  }
  if (others.ins.empty() || others.ins.size() == op.ins.size()) return false;
  if (others.ins.size() == 1) return readOrView(source, expr, cloner, others.ins[0]);
  return putInPlace(source, expr, cloner, std::move(others));
}

bool fold(const Fusion& source, const Expr& expr, Cloner& cloner) {
  if (expr.outputs().size() != 1 || expr.is<FullOp>() || expr.is<IotaOp>() || expr.is<LoadStoreOp>()) return false;
  TensorView* out = asTensor(expr.output(0));
  if (out == nullptr) return false;
  Scalar* value = isEmpty(*out) ? cloner.target().constant(ScalarValue{int64_t{0}}, out->dtype())
                                : valueWithoutElements(expr, cloner);
  if (value != nullptr) {
    FullOp full{.value = value, .dtype = out->dtype()};
    for (const IterDomain* axis : shapeOf(*out)) full.shape.push_back(cloner.clone(axis->visibleExtent()));
    return putInPlace(source, expr, cloner, std::move(full));
  }
  const auto* cat = expr.as<CatOp>();
  return cat != nullptr && dropEmptyParts(source, expr, *cat, cloner);
}

}  // namespace

std::unique_ptr<Fusion> foldEmpties(const Fusion& fusion) {
  const auto folded =
      rewriteFusion(fusion, [&](const Expr& expr, Cloner& cloner) { return fold(fusion, expr, cloner); });
  return removeDead(*folded);
}

}  // namespace tokamak
