#include "graph/fold_casts.h"

#include "graph/movement.h"
#include "graph/remove_dead.h"
#include "graph/replacement.h"
#include "graph/rewriter.h"
#include "ir/ops/math/cast_op.h"

namespace tokamak {

namespace {

// The tensor before the chain of value-preserving casts that ends in `tensor`.
TensorView* sourceOf(TensorView* tensor) {
  const CastOp* cast = tensor->definition() != nullptr ? tensor->definition()->as<CastOp>() : nullptr;
  if (cast == nullptr || !preservesValues(cast->in->dtype(), cast->dtype)) return tensor;
  return sourceOf(cast->in);
}

class CastFolder {
 public:
  CastFolder(const Fusion& source, const Expr& expr, Cloner& cloner) : source_(source), expr_(expr), cloner_(cloner) {}

  bool fold() {
    const CastOp* cast = expr_.as<CastOp>();
    if (cast == nullptr) return false;
    // (In the target, where operands are folded already.)
    TensorView* in = cloner_.clone(cast->in);
    TensorView* source = sourceOf(in);
    if (source->dtype() == cast->dtype && readOrView(source_, expr_, cloner_, source)) return true;
    if (source == in) return moved(*cast, in);
    cloner_.target().appendOp(CastOp{.out = cloner_.clone(cast->out), .in = source, .dtype = cast->dtype});
    return true;
  }

 private:
  // cast(f(cast(x)), type of x) becomes f(x).
  bool moved(const CastOp& cast, TensorView* in) {
    std::vector<const Expr*> steps;
    for (; isMovement(in->definition()) && isUnmarked(*in); in = asTensor(steps.back()->inputs()[0]))
      steps.push_back(in->definition());
    TensorView* source = sourceOf(in);
    if (steps.empty() || source == in || source->dtype() != cast.dtype) return false;
    for (size_t i = steps.size(); i-- > 1;) source = rebuild(*steps[i], *source);
    return rebuildInPlace(source_, expr_, cloner_, *steps[0], *source);
  }

  const Fusion& source_;
  const Expr& expr_;
  Cloner& cloner_;
};

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
  const auto folded =
      rewriteFusion(fusion, [&](const Expr& expr, Cloner& cloner) { return CastFolder(fusion, expr, cloner).fold(); });
  return removeDead(*folded);
}

}  // namespace tokamak
