#include "graph/fold_casts.h"

#include "graph/rebuild.h"
#include "graph/remove_dead.h"
#include "ir/ops/math/cast_op.h"

namespace tokamak {

namespace {

// Where the chain of value-preserving casts that ends in `tensor` starts.
TensorView* sourceOf(TensorView* tensor) {
  const CastOp* cast = tensor->definition() != nullptr ? tensor->definition()->as<CastOp>() : nullptr;
  if (cast == nullptr || !preservesValues(cast->in->dtype(), cast->dtype)) return tensor;
  return sourceOf(cast->in);
}

}  // namespace

bool preservesValues(DataType from, DataType to) {
  if (from == to || from == DataType::Bool) return true;
  switch (from) {
    case DataType::I32: return to == DataType::I64 || to == DataType::F64;
    case DataType::F16:
    case DataType::BF16: return to == DataType::F32 || to == DataType::F64;
    case DataType::F32: return to == DataType::F64;
    default: return false;
  }
}

std::unique_ptr<Fusion> foldCasts(const Fusion& fusion) {
  const auto folded = rebuild(fusion, [&](const Expr& expr, Cloner& cloner) {
    const CastOp* cast = expr.as<CastOp>();
    if (cast == nullptr) return false;
    // In the target, where what it reads has been folded already.
    TensorView* in = cloner.clone(cast->in);
    TensorView* source = sourceOf(in);
    if (source->dtype() == cast->dtype && isReplaceable(fusion, *cast->out)) {
      cloner.substitute(cast->out, source);
      return true;
    }
    if (source == in) return false;
    cloner.target().appendOp(CastOp{.out = cloner.clone(cast->out), .in = source, .dtype = cast->dtype});
    return true;
  });
  return removeDead(*folded);
}

}  // namespace tokamak
